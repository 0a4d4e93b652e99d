// The cluster as a model: ids of its LPs, refusals, and one digest and outcome in every mode.
#include "model/cluster.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::model {
namespace {

using core::Time;
using schema::CollectiveType;

TEST(Cluster, PutsSwitchesAfterTheDevicesAtAnAtom) {
  const WorkloadGraph graph = tests::collectives(CollectiveType::ALL_REDUCE, 18, 100);
  const Cluster cluster(graph, tests::round_accelerator(), tests::round_fabric(), {});
  ASSERT_EQ(cluster.ranges().size(), 2u);
  EXPECT_EQ(cluster.ranges()[0].count, 18u);
  EXPECT_EQ(cluster.atom_shift(), 2u);
  EXPECT_EQ(cluster.ranges()[1].first.value, 20u);
  EXPECT_EQ(cluster.switch_count(), 3u + 4u + 4u);  // leaves, spines of two pods, cores
  EXPECT_EQ(cluster.lp_count(), 31u);
  EXPECT_EQ(cluster.atom_count(), 8u);
}

TEST(Cluster, MakesEveryDeviceAnAtomWhereANodeIsNoPowerOfTwo) {
  const WorkloadGraph graph = tests::collectives(CollectiveType::ALL_REDUCE, 12, 100);
  Fabric fabric = tests::round_fabric();
  fabric.nodes->devices = 6;
  const Cluster cluster(graph, tests::round_accelerator(), fabric, {});
  EXPECT_EQ(cluster.atom_shift(), 0u);
  EXPECT_EQ(cluster.lookahead(), tests::kNodeLatency);
  EXPECT_EQ(tests::run_cluster(cluster, {.sync = pdes::Sync::conservative,
                                        .threads = 1,
                                        .partitions_per_rank = 4})
                .outcome.unfinished(),
            0u);
}

TEST(Cluster, RefusesAJitterBeyondItsBound) {
  const WorkloadGraph graph = tests::collectives(CollectiveType::ALL_REDUCE, 2, 100);
  try {
    Cluster cluster(graph, tests::round_accelerator(), tests::round_fabric(),
                    {.compute_jitter = 0.3});
    FAIL() << "accepted";
  } catch (const core::InputError& error) {
    EXPECT_STREQ(error.what(), "compute jitter: \"0.3\"; expected 0 to 0.25");
  }
}

TEST(Cluster, CommitsOneEventAMessageOneAComputeNodeAndOneASend) {
  const WorkloadGraph ring = tests::collectives(CollectiveType::ALL_REDUCE, 4, 1'000, 3);
  const Cluster rings(ring, tests::round_accelerator(), tests::round_fabric(), {});
  EXPECT_EQ(tests::run_cluster(rings).result.total.committed_events(), 4u * 6u * 3u);
  const WorkloadGraph graph = tests::two_stage_pipeline(
      {.micro_batches = 5, .forward = Time{1'000}, .backward = Time{1'000}});
  const Cluster pipeline(graph, tests::round_accelerator(), tests::round_fabric(), {});
  EXPECT_EQ(tests::run_cluster(pipeline).result.total.committed_events(),
            5u * 4u + 2u * 5u + 2u * 5u);  // computations, sends, messages
}

class TrainingModes : public testing::Test {
 protected:
  WorkloadGraph graph_ = tests::small_training_step({.tensor = 4, .data = 3, .pipeline = 3});
  Cluster cluster_{graph_, tests::round_accelerator(), tests::round_fabric(),
                   {.compute_jitter = 0.1, .seed = 11}};
};

TEST_F(TrainingModes, GiveOneDigestAndOneOutcome) {
  const tests::ClusterRun expected = tests::run_cluster(cluster_);
  EXPECT_EQ(expected.outcome.unfinished(), 0u);
  for (const tests::RunCase& run : tests::differential_cases(Time{500'000})) {
    const tests::ClusterRun result = tests::run_cluster(cluster_, run);
    EXPECT_EQ(to_hex(result.result.digest), to_hex(expected.result.digest)) << run.text();
    EXPECT_EQ(result.outcome.sums_to_words(), expected.outcome.sums_to_words()) << run.text();
    EXPECT_EQ(result.outcome.simulated_time(), expected.outcome.simulated_time()) << run.text();
  }
}

TEST_F(TrainingModes, PassTheRollbackAudit) {
  const tests::ClusterRun expected = tests::run_cluster(cluster_);
  const tests::ClusterRun result =
      tests::run_cluster(cluster_, tests::audited_case(Time{50'000'000}, 0.5));
  EXPECT_EQ(result.result.digest, expected.result.digest);
  EXPECT_GT(result.result.total.audited_events, 1'000u);
  EXPECT_GT(result.result.total.rolled_back_events, 0u);
}

TEST_F(TrainingModes, DependOnTheSeedOfTheJitterAlone) {
  const Cluster same(graph_, tests::round_accelerator(), tests::round_fabric(),
                     {.compute_jitter = 0.1, .seed = 11});
  const Cluster other(graph_, tests::round_accelerator(), tests::round_fabric(),
                      {.compute_jitter = 0.1, .seed = 12});
  const auto digest = [](const Cluster& c) { return tests::run_cluster(c).result.digest; };
  EXPECT_EQ(digest(cluster_), digest(same));
  EXPECT_NE(digest(cluster_).value, digest(other).value);
}

TEST(GeneratedTraining, FinishesAndAgreesInEveryMode) {
  model::ParallelSpec parallel;
  parallel.tensor = 2;
  parallel.pipeline = 2;
  parallel.data = 4;
  const WorkloadGraph graph = tests::small_llama(parallel);
  Accelerator accelerator = tests::round_accelerator();
  accelerator.matrix_flops_per_s.fill(1e14);
  const Cluster cluster(graph, accelerator, tests::round_fabric(), {.compute_jitter = 0.05});
  const tests::ClusterRun expected = tests::run_cluster(cluster);
  EXPECT_EQ(expected.outcome.unfinished(), 0u);
  EXPECT_GT(expected.outcome.training().tokens_per_s, 0);
  for (const std::uint32_t ranks : {1u, 2u}) {
    const tests::ClusterRun result =
        tests::run_cluster(cluster, {.sync = pdes::Sync::optimistic,
                                    .ranks = ranks,
                                    .threads = 2,
                                    .partitions_per_rank = 3,
                                    .window = Time{100'000'000}});
    EXPECT_EQ(result.result.digest, expected.result.digest);
  }
}

}  // namespace
}  // namespace exawarp::model
