// Critical paths: one in every mode, on any number of ranks, threads and partitions.
#include "model/timeline/critical_path.h"

#include <gtest/gtest.h>

#include "pdes/transport.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using core::Time;
using model::CriticalPath;
using model::Timeline;

class CriticalPathModes : public testing::Test {
 protected:
  // Ranks share the timeline, so that one has it all.
  static std::optional<CriticalPath> run(const model::Cluster& cluster, const RunCase& how) {
    Timeline timeline(how.ranks * how.partitions_per_rank, {.tasks_alone = true}, nullptr);
    const pdes::RunResult result =
        run_case({.model = &cluster, .placer = blocks_of(cluster.lp_count(), cluster.atom_shift())},
                 how, &timeline);
    const auto transport = pdes::make_single_transport();
    timeline.combine(*transport);
    timeline.finish(cluster, {.at = result.last_event, .all_finished = true});
    return model::critical_path(cluster, timeline);
  }
  [[nodiscard]] model::Cluster cluster(model::ClusterOptions options) const {
    options.timeline_of_all = true;
    options.seed = 11;
    return {graph_, round_accelerator(), round_fabric(), options};
  }
  // Of a path that is there: without gaps, as long as the run.
  static void expect_whole(const std::optional<CriticalPath>& path) {
    ASSERT_TRUE(path.has_value());
    Time filled = path->from;
    for (const model::PathElement& e : path->elements) {
      EXPECT_EQ(e.from, filled);
      filled = e.until;
    }
    EXPECT_EQ(filled, path->until);
  }

  model::WorkloadGraph graph_ = small_training_step({.tensor = 4, .data = 3, .pipeline = 3});
};

TEST_F(CriticalPathModes, GiveOneChain) {
  const model::Cluster study = cluster({.compute_jitter = 0.1});
  const auto expected = run(study, {});
  expect_whole(expected);
  EXPECT_GT(expected->elements.size(), 30u);
  for (const RunCase& how : differential_cases(Time{500'000})) {
    const auto path = run(study, how);
    ASSERT_TRUE(path.has_value()) << how.text();
    EXPECT_EQ(path->elements, expected->elements) << how.text();
  }
}

TEST_F(CriticalPathModes, GiveOneOfPackets) {
  model::ClusterOptions options{.compute_jitter = 0.1};
  options.packets.emplace();
  const model::Cluster study = cluster(options);
  const auto expected = run(study, {});
  expect_whole(expected);
  const auto path = run(
      study, {.sync = pdes::Sync::optimistic, .ranks = 2, .threads = 2, .partitions_per_rank = 3});
  ASSERT_TRUE(path.has_value());
  EXPECT_EQ(path->elements, expected->elements);
}

TEST_F(CriticalPathModes, GiveOneAsLongWhereDevicesAreFolded) {
  const model::Cluster whole = cluster({.analytical_network = true});
  const model::Cluster folded =
      cluster({.analytical_network = true, .folding = model::Folding::required});
  EXPECT_LT(folded.device_lps(), whole.device_lps());
  const auto expected = run(whole, {}), path = run(folded, {});
  expect_whole(expected);
  expect_whole(path);
  EXPECT_EQ(path->until, expected->until);
}

}  // namespace
}  // namespace exawarp::tests
