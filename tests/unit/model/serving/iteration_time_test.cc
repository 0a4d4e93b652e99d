// Prices of iterations: what windows of attention and blocks side by side take off.
#include "model/serving/iteration_time.h"

#include <gtest/gtest.h>

#include "model/generate/spec.h"
#include "tests/unit/model/serving/small_pools.h"

namespace exawarp::tests {
namespace {

using namespace model::serving;
using core::Time;

// Kernels take as long as their FLOPs and bytes; the host, and what is sent, nothing.
IterationSpec spec_of(std::int64_t window, std::int64_t full_every) {
  IterationSpec spec;
  spec.model = {.name = "small",
                .layers = 4,
                .hidden = 512,
                .ffn = 1024,
                .heads = 8,
                .vocabulary = 1000};
  spec.model.window = window;
  spec.model.full_attention_every = full_every;
  return spec;
}

IterationTime time_of(const IterationSpec& spec) { return {spec, round_accelerator()}; }

// Far behind the window each of n tokens sees 256 tokens in place of past + (n + 1) / 2.
TEST(IterationTime, PromptsSeeAWindow) {
  const IterationTime whole = time_of(spec_of(0, 0)), narrow = time_of(spec_of(256, 0));
  EXPECT_EQ(narrow.prompt_core_ps(64, 0), whole.prompt_core_ps(64, 0));
  EXPECT_LT(narrow.prompt_core_ps(4096, 0), whole.prompt_core_ps(4096, 0) / 4);
  EXPECT_EQ(narrow.prompt_core_ps(4096, 1024), narrow.prompt_core_ps(4096, 100'000));
  EXPECT_GT(narrow.prompt_core_ps(4096, 1024), narrow.prompt_core_ps(4096, 0));
}

// Of four layers two see all.
TEST(IterationTime, HalfOfTheLayersSeeAll) {
  const IterationTime whole = time_of(spec_of(0, 0)), narrow = time_of(spec_of(256, 0));
  const IterationTime half = time_of(spec_of(256, 2));
  EXPECT_NEAR(2.0 * static_cast<double>(half.prompt_core_ps(2048, 512)),
              static_cast<double>(whole.prompt_core_ps(2048, 512)) +
                  static_cast<double>(narrow.prompt_core_ps(2048, 512)),
              10);
}

TEST(IterationTime, DecodesReadNoMoreThanTheirWindow) {
  const IterationTime narrow = time_of(spec_of(256, 0));
  const auto after = [&](std::uint64_t context) {
    return narrow.of({.tokens = 8, .outputs = 8, .decodes = 8, .decode_context = 8 * context});
  };
  EXPECT_LT(after(128), after(256));
  EXPECT_EQ(after(256), after(4096));
}

// Keys and values of fp8 are half as many bytes, for as much arithmetic.
TEST(IterationTime, DecodesReadWhatTheCacheHas) {
  IterationSpec spec = spec_of(0, 0);
  const auto after = [&](std::uint64_t context) {
    return time_of(spec).of(
        {.tokens = 8, .outputs = 8, .decodes = 8, .decode_context = 8 * context});
  };
  const Time half = after(4096), whole = after(8192);
  spec.cache_precision = model::schema::DataType::FP8;
  EXPECT_LT(after(8192), whole);
  EXPECT_GE(after(8192), half);
  spec.cache_precision = model::schema::DataType::NVFP4;
  EXPECT_THROW(check(spec), model::SpecProblem);
}

// One all-reduce a layer and one norm less, but a sum.
TEST(IterationTime, BlocksSideBySideAreReducedTogether) {
  IterationSpec spec = spec_of(0, 0);
  spec.tensor = 2;
  spec.all_reduce = {.latency = Time{10'000'000'000}, .bytes_per_s = 300'000'000'000};
  const Time in_turn = time_of(spec).of({.tokens = 8, .outputs = 8});
  spec.model.blocks = model::BlockOrder::kParallel;
  const Time beside = time_of(spec).of({.tokens = 8, .outputs = 8});
  const std::int64_t gather_and_four_sums = 5 * spec.all_reduce.latency.ps;
  EXPECT_GT(beside.ps, gather_and_four_sums);
  EXPECT_NEAR(static_cast<double>(in_turn.ps - beside.ps),
              4.0 * static_cast<double>(spec.all_reduce.latency.ps), 1e9);
}

}  // namespace
}  // namespace exawarp::tests
