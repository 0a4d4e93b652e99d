// Placement by recursive bisection: balance, cuts that are known, and bounds on random graphs.
#include "partition/topology_aware.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "partition/quality.h"
#include "tests/support/graphs.h"

namespace exawarp::tests {
namespace {

using namespace partition;

std::int64_t heaviest_allowed(const WeightedGraph& graph, std::uint32_t parts) {
  const std::int64_t average = (graph.total_weight() + parts - 1) / parts;
  return average + average / 50 + 4 * graph.heaviest_vertex();
}

TEST(TopologyAware, EqualAtomsGiveEqualShares) {
  const WeightedGraph ring = ring_of(64);
  const auto placement =
      place_by_topology(ring, {.atoms = 64, .ranks = 2, .partitions_per_rank = 4});
  const Quality quality = measure(ring, placement);
  EXPECT_EQ(quality.heaviest_part, 64);
  EXPECT_EQ(quality.lightest_part, 64);
}

TEST(TopologyAware, ARingInKPartsIsCutKTimes) {
  for (const std::uint32_t parts : {2u, 3u, 5u, 8u, 16u}) {
    const WeightedGraph ring = ring_of(240);
    const auto placement = place_by_topology(ring, {.atoms = 240, .partitions_per_rank = parts});
    EXPECT_EQ(measure(ring, placement).cut, parts);
  }
}

TEST(TopologyAware, TwoCliquesAreCutAtTheirOnlyCommonEdge) {
  std::vector<WeightedEdge> edges;
  for (std::uint32_t a = 0; a < 20; ++a)
    for (std::uint32_t b = a + 2; b < 20; b += 2) edges.push_back({a, b, 1});  // odd and even ids
  edges.push_back({6, 13, 3});
  const WeightedGraph cliques(equal_weights(20), std::move(edges));
  const auto placement = place_by_topology(cliques, {.atoms = 20, .ranks = 2});
  EXPECT_EQ(measure(cliques, placement).cut, 3);
  for (std::uint32_t v = 0; v < 20; ++v)
    EXPECT_EQ(placement.partition_of_atom[v], placement.partition_of_atom[v % 2]);
}

TEST(TopologyAware, KeepsStridedRingsWholeWhereBlocksCutThemAll) {
  const WeightedGraph graph = strided_rings(16, 32);
  const PlacementRequest request{.atoms = 512, .ranks = 4, .partitions_per_rank = 2};
  const Quality blocks = measure(graph, place_in_blocks(request));
  const Quality ours = measure(graph, place_by_topology(graph, request));
  EXPECT_EQ(blocks.cut, 16 * 8 * 100);
  EXPECT_EQ(ours.cut, 7 * 32);  // seven borders between whole rings
  EXPECT_EQ(ours.rank_cut, 3 * 32);
  EXPECT_EQ(ours.heaviest_part, blocks.heaviest_part);
}

TEST(TopologyAware, PartitionsOfARankAreNeighbours) {
  const WeightedGraph ring = ring_of(96);
  const auto placement =
      place_by_topology(ring, {.atoms = 96, .ranks = 3, .partitions_per_rank = 4});
  EXPECT_EQ(measure(ring, placement).rank_cut, 3);
}

TEST(TopologyAware, IdleAtomsAreDealtOutInBlocks) {
  const WeightedGraph graph({1, 0, 1, 0, 1, 0, 1, 0}, {{0, 4, 1}, {2, 6, 1}});
  const auto placement = place_by_topology(graph, {.atoms = 8, .ranks = 2});
  EXPECT_EQ(placement.partition_of_atom[0], placement.partition_of_atom[4]);
  EXPECT_EQ(placement.partition_of_atom[2], placement.partition_of_atom[6]);
  EXPECT_EQ(placement.partition_of_atom[1], 0);
  EXPECT_EQ(placement.partition_of_atom[3], 0);
  EXPECT_EQ(placement.partition_of_atom[5], 1);
  EXPECT_EQ(placement.partition_of_atom[7], 1);
}

TEST(TopologyAware, FewerAtomsThanPartitionsPlacesEachOnItsOwn) {
  const WeightedGraph ring = ring_of(3);
  const auto placement =
      place_by_topology(ring, {.atoms = 3, .ranks = 2, .partitions_per_rank = 4});
  std::vector<std::uint16_t> used = placement.partition_of_atom;
  std::sort(used.begin(), used.end());
  EXPECT_EQ(std::unique(used.begin(), used.end()), used.end());
  EXPECT_LT(used.back(), 8);
}

TEST(TopologyAware, TheOrderInWhichEdgesAreGivenDoesNotMatter) {
  std::vector<WeightedEdge> edges;
  for (std::uint32_t v = 0; v < 100; ++v) {
    edges.push_back({v, (v * 7 + 3) % 100, 2});
    edges.push_back({v, (v + 10) % 100, 1});
  }
  const PlacementRequest request{.atoms = 100, .ranks = 2, .partitions_per_rank = 3};
  const auto forward = place_by_topology({equal_weights(100), edges}, request);
  std::reverse(edges.begin(), edges.end());
  for (WeightedEdge& edge : edges) std::swap(edge.a, edge.b);
  const auto backward = place_by_topology({equal_weights(100), edges}, request);
  EXPECT_EQ(forward.partition_of_atom, backward.partition_of_atom);
}

TEST(TopologyAware, RandomGraphsAreBalancedAndNeverWorseThanTheirBound) {
  const std::uint64_t first_seed = std::random_device{}();
  for (std::uint64_t seed = first_seed; seed < first_seed + 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const RandomPlacementCase c = random_placement_case(seed);
    const auto placement = place_by_topology(c.graph, c.request);
    const std::uint32_t parts = c.request.ranks * c.request.partitions_per_rank;
    ASSERT_EQ(placement.partition_of_atom.size(), c.request.atoms);
    for (const std::uint16_t p : placement.partition_of_atom) ASSERT_LT(p, parts);
    EXPECT_LE(measure(c.graph, placement).heaviest_part, heaviest_allowed(c.graph, parts));
  }
}

TEST(TopologyAware, CutsNoMoreBetweenRanksThanWholeRings) {
  const WeightedGraph graph = strided_rings(16, 1024);
  const auto placement =
      place_by_topology(graph, {.atoms = 16384, .ranks = 8, .partitions_per_rank = 8});
  EXPECT_LE(measure(graph, placement).rank_cut, 7 * 1024);
}

}  // namespace
}  // namespace exawarp::tests
