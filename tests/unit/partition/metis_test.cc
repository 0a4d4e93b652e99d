// METIS as a placement: balance, cuts that are known, and the same answer on every thread.
#include "partition/metis.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "partition/quality.h"
#include "tests/support/graphs.h"
#include "tests/support/seeds.h"

namespace exawarp::tests {
namespace {

using namespace partition;

TEST(Metis, EqualAtomsGiveEqualSharesNearly) {
  const WeightedGraph ring = ring_of(64);
  const Quality quality =
      measure(ring, place_by_metis(ring, {.atoms = 64, .ranks = 2, .partitions_per_rank = 4}));
  EXPECT_LE(quality.heaviest_part, 72);  // one atom, of weight 8, above the average
  EXPECT_GE(quality.lightest_part, 56);
}

TEST(Metis, CutsARingInTwoTwice) {
  const WeightedGraph ring = ring_of(240);
  EXPECT_EQ(measure(ring, place_by_metis(ring, {.atoms = 240, .ranks = 2})).cut, 2);
}

TEST(Metis, KeepsStridedRingsWholeWhereBlocksCutThemAll) {
  const WeightedGraph graph = strided_rings(16, 32);
  const PlacementRequest request{.atoms = 512, .ranks = 4, .partitions_per_rank = 2};
  const Quality blocks = measure(graph, place_in_blocks(request));
  const Quality quality = measure(graph, place_by_metis(graph, request));
  EXPECT_LT(quality.cut * 10, blocks.cut);
}

TEST(Metis, PartitionsOfARankAreNeighbours) {
  const WeightedGraph ring = ring_of(96);
  const auto placement = place_by_metis(ring, {.atoms = 96, .ranks = 3, .partitions_per_rank = 4});
  EXPECT_LE(measure(ring, placement).rank_cut, 4);  // three borders; METIS may leave one more
}

TEST(Metis, IdleAtomsAreDealtOutInBlocks) {
  const WeightedGraph graph({1, 0, 1, 0, 1, 0, 1, 0}, {{0, 4, 1}, {2, 6, 1}});
  const auto placement = place_by_metis(graph, {.atoms = 8, .ranks = 2});
  EXPECT_EQ(placement.partition_of_atom[1], 0);
  EXPECT_EQ(placement.partition_of_atom[3], 0);
  EXPECT_EQ(placement.partition_of_atom[5], 1);
  EXPECT_EQ(placement.partition_of_atom[7], 1);
}

TEST(Metis, FewerAtomsThanPartitionsPlacesEachOnItsOwn) {
  const WeightedGraph ring = ring_of(3);
  const auto placement = place_by_metis(ring, {.atoms = 3, .ranks = 1, .partitions_per_rank = 8});
  std::vector<std::uint16_t> used = placement.partition_of_atom;
  std::sort(used.begin(), used.end());
  EXPECT_EQ(std::unique(used.begin(), used.end()), used.end());
}

TEST(Metis, TheSameRequestGivesTheSamePlacementOnEveryThread) {
  const WeightedGraph graph = random_graph(5, 600, 6);
  const PlacementRequest request{.atoms = 600, .ranks = 2, .partitions_per_rank = 3};
  const auto expected = place_by_metis(graph, request).partition_of_atom;
  std::vector<std::vector<std::uint16_t>> placed(4);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : placed)
      threads.emplace_back([&] { mine = place_by_metis(graph, request).partition_of_atom; });
  }
  for (const auto& other : placed) EXPECT_EQ(other, expected);
}

TEST(Metis, WeightsBeyondThirtyTwoBitsAreScaledAndStayBalanced) {
  const std::int64_t heavy = std::int64_t{1} << 50;
  std::vector<WeightedEdge> edges;
  for (std::uint32_t v = 0; v < 64; ++v) edges.push_back({v, (v + 1) % 64, heavy});
  const WeightedGraph ring(std::vector<std::int64_t>(64, heavy), std::move(edges));
  const Quality quality = measure(ring, place_by_metis(ring, {.atoms = 64, .ranks = 2}));
  EXPECT_EQ(quality.cut, 2 * heavy);
  EXPECT_LE(quality.heaviest_part, 33 * heavy);
}

TEST(Metis, RandomGraphsAreBalanced) {
  for (const std::uint64_t seed : case_seeds(1, 20)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const RandomPlacementCase c = random_placement_case(seed);
    const auto placement = place_by_metis(c.graph, c.request);
    const std::uint32_t parts = c.request.ranks * c.request.partitions_per_rank;
    ASSERT_EQ(placement.partition_of_atom.size(), c.request.atoms);
    for (const std::uint16_t p : placement.partition_of_atom) ASSERT_LT(p, parts);
    const std::int64_t average = c.graph.total_weight() / parts;
    EXPECT_LE(measure(c.graph, placement).heaviest_part,
              average + average / 8 + 5 * c.graph.heaviest_vertex());
  }
}

// Cutting between whole rings costs 7 * 1024; METIS bounds the imbalance first.
TEST(Metis, CutsHardlyMoreBetweenRanksThanWholeRings) {
  const WeightedGraph graph = strided_rings(16, 1024);
  const auto placement =
      place_by_metis(graph, {.atoms = 16384, .ranks = 8, .partitions_per_rank = 8});
  EXPECT_LE(measure(graph, placement).rank_cut, 2 * 7 * 1024);
}

}  // namespace
}  // namespace exawarp::tests
