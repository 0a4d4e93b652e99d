// Sampled graphs of random workloads. A failure prints the seed that replays it.
#include <gtest/gtest.h>

#include "core/random.h"
#include "model/generate/transformer.h"
#include "model/sample/draw.h"
#include "model/workload/ideal_schedule.h"
#include "model/workload/validate.h"
#include "tests/fuzz/read_workload.h"
#include "tests/support/seeds.h"
#include "tests/support/workload_builders.h"

namespace exawarp::tests {
namespace {

using namespace model;

TEST(SampleProperty, EverySampledGraphIsValidAndRunsToItsEnd) {
  for (const std::uint64_t seed : case_seeds(1, 100)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::vector<WorkloadGraph> given;
    given.push_back(generate_transformer(random_transformer(seed)));
    given.push_back(generate_transformer(random_transformer(seed + 1'000)));
    const SampleModel model = fit_sample(given);
    SampleRequest request{.seed = seed, .count = 2};
    const std::uint64_t bits = core::random_bits(seed, 7);
    if (bits % 3 != 0) request.ranks = 1 + static_cast<std::uint32_t>(bits >> 8) % 40;
    if (bits % 2 != 0) request.nodes = 1 + static_cast<std::uint32_t>(bits >> 40) % 600;
    for (std::uint32_t i = 0; i < request.count; ++i) {
      const WorkloadGraph graph = draw_sample(model, request, i);  // validates
      EXPECT_EQ(find_unmatched(graph), std::vector<std::string>{});
      fuzz::read_workload(graph);
      const auto schedule =
          ideal_schedule(graph, [](const Program&, std::uint32_t) { return std::uint64_t{1}; });
      ASSERT_TRUE(schedule);
      EXPECT_TRUE(schedule->finishes) << schedule->waiting;
    }
  }
}

}  // namespace
}  // namespace exawarp::tests
