// Models by letters, served: what their layers take, keep and exchange.
#include <gtest/gtest.h>

#include "model/generate/layer_counts.h"
#include "model/generate/spec.h"
#include "model/serving/expert_exchange.h"
#include "model/serving/iteration_time.h"
#include "model/serving/kv_room.h"
#include "model/serving/pool.h"
#include "tests/unit/model/serving/small_iterations.h"
#include "tests/unit/model/serving/small_pools.h"

namespace exawarp::tests {
namespace {

using namespace model::serving;

// Whole layers, and the same as layers of one block.
IterationSpec whole_layers(std::int64_t tensor = 1) {
  IterationSpec spec = small_iteration(tensor);
  spec.model.layers = 2;
  return spec;
}
IterationSpec by_letter(const std::string& pattern, std::int64_t tensor = 1) {
  IterationSpec spec = whole_layers(tensor);
  spec.model.pattern = pattern;
  spec.model.layers = static_cast<std::int64_t>(pattern.size());
  if (pattern.find('M') != std::string::npos) {
    spec.model.mamba = {.heads = 16, .head_dim = 64, .state_dim = 32, .groups = 4};
  }
  return spec;
}

IterationTime priced(const IterationSpec& spec) { return {spec, round_accelerator()}; }

IterationWork decode_work(std::uint64_t n, std::uint64_t context) {
  return {.tokens = n, .outputs = n, .decodes = n, .decode_context = n * context};
}

TEST(HybridServing, TwoLettersAreAWholeLayer) {
  for (const std::int64_t tensor : {1, 4}) {
    const IterationTime letters = priced(by_letter("*-*-", tensor)),
                        layers = priced(whole_layers(tensor));
    for (const std::uint64_t n : {1, 7, 64}) {
      EXPECT_EQ(letters.of(decode_work(n, 300)), layers.of(decode_work(n, 300))) << n;
      EXPECT_EQ(letters.prompt_core_ps(n, 5), layers.prompt_core_ps(n, 5)) << n;
    }
  }
  EXPECT_EQ(token_bytes_of(by_letter("*-*-")), token_bytes_of(whole_layers()));
  EXPECT_EQ(weight_bytes_of(by_letter("*-*-")), weight_bytes_of(whole_layers()));
}

// A scan does what its own tokens want, whatever came before them; a layer of attention more.
TEST(HybridServing, ScansDoNotLookBack) {
  const IterationTime with = priced(by_letter("M*-M")), without = priced(by_letter("-*-"));
  const auto scans = [&](std::uint64_t tokens, std::uint64_t past) {
    return with.prompt_core_ps(tokens, past) - without.prompt_core_ps(tokens, past);
  };
  EXPECT_GT(scans(1024, 0), 0);
  EXPECT_EQ(scans(1024, 0), scans(1024, 30'000));
  EXPECT_NEAR(static_cast<double>(scans(2048, 0)), 2.0 * static_cast<double>(scans(1024, 0)),
              0.1 * static_cast<double>(scans(2048, 0)));
}

// Of 16 x 64 x 32 elements, read and written in fp32, whatever the context.
TEST(HybridServing, DecodesReadAndWriteStates) {
  const IterationTime with = priced(by_letter("M*-")), without = priced(by_letter("*-"));
  const auto more = [&](std::uint64_t n, std::uint64_t context) {
    return (with.of(decode_work(n, context)) - without.of(decode_work(n, context))).ps;
  };
  EXPECT_EQ(more(8, 512), more(8, 16'384));
  EXPECT_GT(more(64, 512), more(8, 512));
}

TEST(HybridServing, RoomIsLeftByStatesOfAllSequences) {
  IterationSpec spec = by_letter("MM*-M");
  constexpr std::uint64_t kState = 3 * (4 * 16 * 64 * 32 + 2 * (16 * 64 + 2 * 4 * 32) * 3);
  EXPECT_EQ(state_bytes_of(spec), kState);
  EXPECT_EQ(state_bytes_of(by_letter("MM*-M", 4)), kState / 4);
  EXPECT_EQ(state_bytes_of(whole_layers()), 0u);
  EXPECT_EQ(token_bytes_of(spec),
            token_bytes_of(whole_layers()) / 2);  // one layer of attention, not two
  model::Accelerator accelerator = round_accelerator();
  accelerator.memory_bytes = 10'000'000'000;
  const std::uint64_t without = room_for_tokens(spec, accelerator);
  const std::uint64_t with = room_for_tokens(spec, accelerator, {.sequences = 1000});
  EXPECT_NEAR(static_cast<double>(without - with),
              1000.0 * kState / static_cast<double>(token_bytes_of(spec)), 1);
}

// Experts on a quarter of the width: their weights, and what an exchange carries.
TEST(HybridServing, LatentExperts) {
  IterationSpec spec = by_letter("ME*E");
  spec.model.moe = {.experts = 8, .top_k = 2, .ffn = 512};
  IterationSpec latent = spec;
  latent.model.moe.latent = spec.model.hidden / 4;
  for (IterationSpec each : {spec, latent}) {
    const std::uint64_t all = weight_bytes_of(each);
    each.expert_precision = model::schema::DataType::FP8;
    const auto width = static_cast<std::uint64_t>(model::expert_width_of(each.model));
    EXPECT_EQ(all - weight_bytes_of(each), 2 * 8 * 3 * 512 * width);
  }
  // What brings tokens to the width and back, 2 x 1024 x 256 of two layers, is whole on four
  // devices.
  IterationSpec split = latent;
  split.tensor = 4;
  EXPECT_EQ(weight_bytes_of(split), (weight_bytes_of(latent) + 3 * 2 * 2 * 2 * 1024 * 256) / 4);
  EXPECT_LT(priced(latent).of(decode_work(8, 100)), priced(spec).of(decode_work(8, 100)));
  Pool pool = pool_of({.tensor = 4}, 100, 10);
  pool.model = spec.model;
  pool.exchange.on = true;
  EXPECT_EQ(exchanges_of(pool), 2u);
  EXPECT_EQ(sums_of_layers(pool), 2u);  // behind M and *; behind experts tokens come back
  EXPECT_EQ(all_reduces_of(pool), 2u);
  const std::uint64_t bytes = exchange_bytes(pool, 64);
  pool.model = latent.model;
  EXPECT_EQ(4 * exchange_bytes(pool, 64), bytes);
  pool.exchange.on = false;
  EXPECT_EQ(all_reduces_of(pool), 4u);
}

TEST(HybridServing, CountsLayers) {
  model::ModelSpec model = by_letter("MM*-M").model;
  const model::LayerCounts counts = model::layer_counts(model);
  EXPECT_EQ(counts.attention, 1u);
  EXPECT_EQ(counts.mamba, 3u);
  EXPECT_EQ(counts.feed_forward, 1u);
  EXPECT_EQ(counts.blocks(), 5u);
  EXPECT_EQ(model::layer_counts(whole_layers().model).blocks(), 4u);
  model = whole_layers().model;
  model.window = 64;
  model.full_attention_every = 2;
  EXPECT_EQ(model::layer_counts(model).windowed, 1u);
}

TEST(HybridServing, RefusesWhatItDoesNotDescribe) {
  const auto key_of = [](const IterationSpec& spec) {
    try {
      check(spec);
    } catch (const model::SpecProblem& problem) {
      return problem.key;
    }
    return std::string();
  };
  EXPECT_EQ(key_of(by_letter("M*-", 4)), "");
  EXPECT_EQ(key_of(by_letter("M-")), "model.pattern");
  EXPECT_EQ(key_of(by_letter("M*-", 8)), "tensor");  // four groups of heads
  IterationSpec spec = by_letter("M*-", 4);
  spec.attention_data = 2;
  EXPECT_EQ(key_of(spec), "attention_data");
  spec = by_letter("M*-");
  spec.model.predictions = 1;
  EXPECT_EQ(key_of(spec), "model.predictions");
}

}  // namespace
}  // namespace exawarp::tests
