#include "pdes/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace exawarp::tests {
namespace {

using namespace pdes;

constexpr Statistics kMine{.processed_events = 10,
                           .longest_rollback = 4,
                           .gvt_rounds = 7,
                           .pending_peak = 5,
                           .history_peak = 9,
                           .gvt_ns = 100};
constexpr Statistics kOther{.processed_events = 3,
                            .longest_rollback = 6,
                            .gvt_rounds = 7,
                            .pending_peak = 2,
                            .history_peak = 11,
                            .gvt_ns = 20};

void expect_merged(const Statistics& both) {
  EXPECT_EQ(both.processed_events, 13u);
  EXPECT_EQ(both.gvt_ns, 120u);
  EXPECT_EQ(both.longest_rollback, 6u);
  EXPECT_EQ(both.gvt_rounds, 7u);
  EXPECT_EQ(both.pending_peak, 5u);
  EXPECT_EQ(both.history_peak, 11u);
}

TEST(Statistics, MergeAddsCountsAndTakesTheGreaterOfPeaks) {
  Statistics both = kMine;
  both.merge(kOther);
  expect_merged(both);
}

TEST(Statistics, RanksCombineByTheSameRule) {
  const StatisticsWords mine = words_of(kMine);
  const StatisticsWords other = words_of(kOther);
  StatisticsWords sums{};
  StatisticsWords maxima{};
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] = mine[i] + other[i];
    maxima[i] = std::max(mine[i], other[i]);
  }
  expect_merged(combined(sums, maxima));
}

}  // namespace
}  // namespace exawarp::tests
