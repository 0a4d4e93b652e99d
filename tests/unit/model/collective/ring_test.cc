#include "model/collective/ring.h"

#include <gtest/gtest.h>

namespace exawarp::tests {
namespace {

using namespace model;
using schema::CollectiveType;

TEST(Ring, AllReduceGoesAroundTwiceInShares) {
  const RingPlan plan = ring_plan(CollectiveType::ALL_REDUCE, 1001, 8);
  EXPECT_EQ(plan.steps, 14u);
  EXPECT_EQ(plan.chunk_bytes, 126);  // rounded up
}

TEST(Ring, ReduceScatterGoesAroundOnceInShares) {
  const RingPlan plan = ring_plan(CollectiveType::REDUCE_SCATTER, 1000, 8);
  EXPECT_EQ(plan.steps, 7u);
  EXPECT_EQ(plan.chunk_bytes, 125);
}

TEST(Ring, AllGatherGoesAroundOnceInWholeShards) {
  const RingPlan plan = ring_plan(CollectiveType::ALL_GATHER, 1000, 8);
  EXPECT_EQ(plan.steps, 7u);
  EXPECT_EQ(plan.chunk_bytes, 1000);
}

TEST(Ring, BarrierCarriesNothing) {
  EXPECT_EQ(ring_plan(CollectiveType::BARRIER, 0, 8).chunk_bytes, 0);
  EXPECT_EQ(ring_plan(CollectiveType::BARRIER, 0, 8).steps, 14u);
}

TEST(Ring, OfOneHasNothingToDo) {
  EXPECT_EQ(ring_plan(CollectiveType::ALL_REDUCE, 1000, 1).steps, 0u);
}

TEST(Ring, KnowsWhatItDoesNotDo) {
  EXPECT_TRUE(ring_supports(CollectiveType::ALL_GATHER));
  EXPECT_FALSE(ring_supports(CollectiveType::ALL_TO_ALL));
  EXPECT_FALSE(ring_supports(CollectiveType::BROADCAST));
}

TEST(Ring, GoesAxisByAxisWhereLatencyRules) {
  constexpr std::uint32_t kMesh[] = {8, 256, 16}, kAxis[] = {1, 256, 1};
  const StepCost cost{core::Time{4'000'000}, 50'000'000'000};
  EXPECT_TRUE(axis_by_axis(CollectiveType::ALL_REDUCE, 4, kMesh, cost));
  EXPECT_TRUE(axis_by_axis(CollectiveType::BARRIER, 0, kMesh, cost));
  EXPECT_FALSE(axis_by_axis(CollectiveType::ALL_REDUCE, std::int64_t{1} << 37, kMesh, cost));
  EXPECT_FALSE(axis_by_axis(CollectiveType::ALL_GATHER, 4, kMesh, cost));
  EXPECT_FALSE(axis_by_axis(CollectiveType::ALL_REDUCE, 4, kAxis, cost));
}

}  // namespace
}  // namespace exawarp::tests
