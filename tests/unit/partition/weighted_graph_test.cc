#include "partition/weighted_graph.h"

#include <gtest/gtest.h>

#include "partition/block.h"
#include "partition/quality.h"

namespace exawarp::tests {
namespace {

using namespace partition;

TEST(WeightedGraph, EdgesOfOnePairAddUpInBothRows) {
  const WeightedGraph graph({1, 1, 1}, {{2, 0, 5}, {0, 2, 7}, {1, 2, 1}});
  ASSERT_EQ(graph.neighbours(2).size(), 2u);
  EXPECT_EQ(graph.neighbours(2)[0].vertex, 0u);
  EXPECT_EQ(graph.neighbours(2)[0].weight, 12);
  EXPECT_EQ(graph.neighbours(2)[1].vertex, 1u);
  ASSERT_EQ(graph.neighbours(0).size(), 1u);
  EXPECT_EQ(graph.neighbours(0)[0].weight, 12);
}

TEST(WeightedGraph, AnEdgeOfAnAtomWithItselfIsDropped) {
  const WeightedGraph graph({3, 4}, {{1, 1, 9}});
  EXPECT_TRUE(graph.neighbours(1).empty());
  EXPECT_EQ(graph.total_weight(), 7);
  EXPECT_EQ(graph.heaviest_vertex(), 4);
}

TEST(Quality, CountsEachCutEdgeOnceAndRankBordersApart) {
  const WeightedGraph graph({1, 2, 3, 4}, {{0, 1, 10}, {1, 2, 20}, {2, 3, 40}});
  const Quality quality =
      measure(graph, place_in_blocks({.atoms = 4, .ranks = 2, .partitions_per_rank = 2}));
  EXPECT_EQ(quality.cut, 70);
  EXPECT_EQ(quality.rank_cut, 20);
  EXPECT_EQ(quality.heaviest_part, 4);
  EXPECT_EQ(quality.lightest_part, 1);
}

}  // namespace
}  // namespace exawarp::tests
