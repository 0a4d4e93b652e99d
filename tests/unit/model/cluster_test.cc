// The cluster as a model: ids of its LPs, refusals, counts of events.
#include "model/cluster.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using namespace model;
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

}  // namespace
}  // namespace exawarp::tests
