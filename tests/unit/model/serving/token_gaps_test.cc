// Counts of times between tokens.
#include "model/serving/token_gaps.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "pdes/transport.h"

namespace exawarp::tests {
namespace {

using namespace core::literals;
using namespace model::serving;

void add(TokenGaps& gaps, core::Time gap, std::uint64_t times) {
  gaps.counts[gap_bin_of(gap.ps)] += times;
  gaps.sum_us += static_cast<std::uint64_t>(gap.ps / 1'000'000) * times;
  gaps.most_ps = std::max(gaps.most_ps, static_cast<std::uint64_t>(gap.ps));
}

TEST(TokenGaps, HaveBinsThatHoldThemAndAreNarrow) {
  for (std::int64_t ps = 0; ps < std::int64_t{1} << kGapMostLog2; ps += 1 + ps / 97) {
    const std::uint32_t bin = gap_bin_of(ps);
    ASSERT_LT(bin, kGapBins) << ps;
    EXPECT_LE(gap_bin_begin_ps(bin), ps);
    EXPECT_LT(ps, gap_bin_begin_ps(bin + 1)) << bin;
    const std::int64_t width = gap_bin_begin_ps(bin + 1) - gap_bin_begin_ps(bin);
    EXPECT_LE(width, std::max<std::int64_t>(ps, std::int64_t{1} << kGapLeastLog2) / 16) << ps;
  }
  EXPECT_EQ(gap_bin_of(core::kEndOfTime.ps), kGapBins - 1);
}

TEST(TokenGaps, HaveAMeanAndPercentilesToTheWidthOfABin) {
  TokenGaps gaps;
  EXPECT_EQ(gaps.mean(), 0_ps);
  EXPECT_EQ(gaps.percentile(99), 0_ps);
  add(gaps, 10_ms, 90);
  add(gaps, 50_ms, 9);
  add(gaps, 2'000_ms, 1);
  EXPECT_EQ(gaps.count(), 100u);
  EXPECT_EQ(gaps.mean(), core::Time{(90 * (10_ms).ps + 9 * (50_ms).ps + (2'000_ms).ps) / 100});
  const auto near = [&](std::uint32_t percent, core::Time expected) {
    EXPECT_NEAR(static_cast<double>(gaps.percentile(percent).ps),
                static_cast<double>(expected.ps), static_cast<double>(expected.ps) / 16)
        << percent;
  };
  near(0, 10_ms);
  near(50, 10_ms);
  near(89, 10_ms);
  near(95, 50_ms);
  near(100, 2'000_ms);
  EXPECT_LE(gaps.percentile(100), 2'000_ms);
}

TEST(TokenGaps, AddUpOverReplicasAndRanks) {
  TokenGaps one, other;
  add(one, 10_ms, 2);
  add(other, 30_ms, 2);
  one.add(other);
  one.combine(*pdes::make_single_transport());
  EXPECT_EQ(one.count(), 4u);
  EXPECT_EQ(one.mean(), 20_ms);
  EXPECT_EQ(one.most_ps, static_cast<std::uint64_t>((30_ms).ps));
}

}  // namespace
}  // namespace exawarp::tests
