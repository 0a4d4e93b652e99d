#include <gtest/gtest.h>

#include "model/cluster.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using namespace model;
using schema::CollectiveType;

Traffic traffic_of(const WorkloadGraph& graph) {
  return Cluster(graph, tests::round_accelerator(), tests::round_fabric(), {}).traffic();
}

TEST(Traffic, CountsCollectivesBetweenRingNeighbours) {
  const WorkloadGraph graph = tests::collectives(CollectiveType::ALL_REDUCE, 12, 100, 7);
  const Traffic t = traffic_of(graph);  // atoms of 4: a triangle, and atoms of switches
  ASSERT_GE(t.work.size(), 3u);
  EXPECT_EQ(t.work[0], 4u * 7u * 22u);
  EXPECT_EQ(t.work.back(), 0u);
  EXPECT_EQ(t.first_edge[1], 2u);
  EXPECT_EQ(t.neighbour[0], 1u);
  EXPECT_EQ(t.neighbour[1], 2u);
  EXPECT_EQ(t.weight[0], 7u);
  EXPECT_EQ(t.first_edge.back(), 6u);
}

TEST(Traffic, CountsSendsBetweenStagesFourfold) {
  // 4 devices a stage, so that a stage is an atom; each sends 3 forward and receives 3 back.
  const WorkloadGraph graph =
      tests::small_training_step({.tensor = 4, .data = 1, .pipeline = 2, .micro_batches = 3});
  const Traffic t = traffic_of(graph);
  EXPECT_EQ(t.first_edge[1], 1u);
  EXPECT_EQ(t.neighbour[0], 1u);
  EXPECT_EQ(t.weight[0], 4u * (4u * 6u));
}

TEST(Traffic, IsSymmetric) {
  const Traffic t = traffic_of(tests::small_training_step({.tensor = 2, .data = 8}));
  std::uint64_t out = 0;
  for (std::size_t a = 0; a + 1 < t.first_edge.size(); ++a) {
    for (std::uint64_t e = t.first_edge[a]; e < t.first_edge[a + 1]; ++e) {
      const std::uint32_t b = t.neighbour[e];
      bool found = false;
      for (std::uint64_t r = t.first_edge[b]; r < t.first_edge[b + 1]; ++r) {
        found = found || (t.neighbour[r] == a && t.weight[r] == t.weight[e]);
      }
      EXPECT_TRUE(found) << a << " " << b;
      out += t.weight[e];
    }
  }
  EXPECT_GT(out, 0u);
}

}  // namespace
}  // namespace exawarp::tests
