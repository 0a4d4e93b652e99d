// A training step at message fidelity: one digest and one outcome in every mode, under audit, and
// of each seed of the jitter.
#include <gtest/gtest.h>

#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using core::Time;
using model::Accelerator;
using model::Cluster;
using model::ParallelSpec;
using model::WorkloadGraph;

// Returns the sequential run.
ClusterRun expect_one_digest_and_outcome(const Cluster& cluster) {
  ClusterRun expected = run_cluster(cluster);
  EXPECT_EQ(expected.outcome.unfinished(), 0u);
  for (const RunCase& run : differential_cases(Time{500'000})) {
    const ClusterRun result = run_cluster(cluster, run);
    EXPECT_EQ(to_hex(result.result.digest), to_hex(expected.result.digest)) << run.text();
    EXPECT_EQ(result.outcome.sums_to_words(), expected.outcome.sums_to_words()) << run.text();
    EXPECT_EQ(result.outcome.simulated_time(), expected.outcome.simulated_time()) << run.text();
  }
  return expected;
}

class TrainingModes : public testing::Test {
 protected:
  WorkloadGraph graph_ = small_training_step({.tensor = 4, .data = 3, .pipeline = 3});
  Cluster cluster_{
      graph_, round_accelerator(), round_fabric(), {.compute_jitter = 0.1, .seed = 11}};
};

TEST_F(TrainingModes, GiveOneDigestAndOneOutcome) { expect_one_digest_and_outcome(cluster_); }

TEST_F(TrainingModes, PassTheRollbackAudit) {
  const ClusterRun expected = run_cluster(cluster_);
  const ClusterRun result = run_cluster(cluster_, audited_case(Time{50'000'000}, 0.5));
  EXPECT_EQ(result.result.digest, expected.result.digest);
  EXPECT_GT(result.result.total.audited_events, 1'000u);
  EXPECT_GT(result.result.total.rolled_back_events, 0u);
}

TEST_F(TrainingModes, DependOnTheSeedOfTheJitterAlone) {
  const Cluster same(graph_, round_accelerator(), round_fabric(),
                     {.compute_jitter = 0.1, .seed = 11});
  const Cluster other(graph_, round_accelerator(), round_fabric(),
                      {.compute_jitter = 0.1, .seed = 12});
  const auto digest = [](const Cluster& c) { return run_cluster(c).result.digest; };
  EXPECT_EQ(digest(cluster_), digest(same));
  EXPECT_NE(digest(cluster_).value, digest(other).value);
}

TEST(GeneratedTraining, FinishesAndAgreesInEveryMode) {
  ParallelSpec parallel;
  parallel.tensor = 2;
  parallel.pipeline = 2;
  parallel.data = 4;
  const WorkloadGraph graph = small_llama(parallel);
  Accelerator accelerator = round_accelerator();
  accelerator.matrix_flops_per_s.fill(1e14);
  const Cluster cluster(graph, accelerator, round_fabric(), {.compute_jitter = 0.05});
  const ClusterRun expected = run_cluster(cluster);
  EXPECT_EQ(expected.outcome.unfinished(), 0u);
  EXPECT_GT(expected.outcome.training().tokens_per_s, 0);
  for (const std::uint32_t ranks : {1u, 2u}) {
    const ClusterRun result = run_cluster(cluster, {.sync = pdes::Sync::optimistic,
                                                    .ranks = ranks,
                                                    .threads = 2,
                                                    .partitions_per_rank = 3,
                                                    .window = Time{100'000'000}});
    EXPECT_EQ(result.result.digest, expected.result.digest);
  }
}

// At message fidelity stand-ins send each other what all devices would.
TEST(FoldedTraining, GivesOneDigestInEveryModeAndPassesTheAudit) {
  const WorkloadGraph graph = small_training_step({.tensor = 4, .data = 6, .pipeline = 3});
  const Cluster cluster(graph, round_accelerator(), round_fabric(),
                        {.folding = model::Folding::required});
  EXPECT_LT(cluster.device_lps(), cluster.device_count());
  EXPECT_GT(cluster.device_lps(), 3u);
  const ClusterRun expected = expect_one_digest_and_outcome(cluster);
  const ClusterRun audited = run_cluster(cluster, audited_case(Time{50'000'000}, 0.5));
  EXPECT_EQ(audited.result.digest, expected.result.digest);
  EXPECT_GT(audited.result.total.audited_events, 100u);
}

}  // namespace
}  // namespace exawarp::tests
