#include "core/time.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/exponential.h"

namespace exawarp::tests {
namespace {

using namespace core;
using namespace core::literals;

TEST(Time, TransferTimeIsExactAndRoundsUp) {
  EXPECT_EQ(transfer_time(50, 50'000'000'000), 1_ns);
  EXPECT_EQ(transfer_time(1, 3'000'000'000'000), 1_ps);
  EXPECT_EQ(transfer_time(0, 1), 0_ps);
}

TEST(Time, TransferTimeOfAPetabyteDoesNotOverflow) {
  EXPECT_EQ(transfer_time(1'000'000'000'000'000, 1'000'000'000'000), 1'000_s);
}

TEST(Time, TransferTimeStopsAtTheEndOfTime) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(transfer_time(1'000'000'000'000, 100'000), kEndOfTime);  // 116 days
  EXPECT_EQ(transfer_time(100'000'000'000, 100'000), 1'000'000_s);
  EXPECT_EQ(transfer_time(kMost, 1), kEndOfTime);
  EXPECT_EQ(transfer_time(kMost, kMost), 1_s);
  EXPECT_EQ(transfer_time(1, kMost), 1_ps);
  // On both sides of the end: 2^62 ps are 4,611,686.018 427 387 904 s.
  EXPECT_EQ(transfer_time(4'611'686, 1), 4'611'686_s);
  EXPECT_EQ(transfer_time(4'611'687, 1), kEndOfTime);
}

TEST(Time, SaturatingAddStopsAtTheLargestTime) {
  EXPECT_EQ(saturating_add(Time::max() - 1_ps, 2_ps), Time::max());
  EXPECT_EQ(saturating_add(3_ps, 2_ps), 5_ps);
}

TEST(Time, SumsAndProductsStopAtTheEndOfTime) {
  EXPECT_EQ(sum_to_end(3_ps, 2_ps), 5_ps);
  EXPECT_EQ(sum_to_end(kEndOfTime - 2_ps, 1_ps), kEndOfTime - 1_ps);
  EXPECT_EQ(sum_to_end(kEndOfTime, kEndOfTime), kEndOfTime);
  EXPECT_EQ(sum_to_end(1_ps, Time::max()), kEndOfTime);
  EXPECT_EQ(product_to_end(7, 3_ps), 21_ps);
  EXPECT_EQ(product_to_end(2, kEndOfTime - 1_ps), kEndOfTime);
  EXPECT_EQ(product_to_end(std::numeric_limits<std::int64_t>::max(), kEndOfTime), kEndOfTime);
  EXPECT_EQ(exponential(kEndOfTime, 1), kEndOfTime);  // 44 times the mean
}

TEST(Time, TheSumOfAnyTimeAndADelayStaysWithin64Bits) {
  static_assert(kEndOfTime - 1_ps + kEndOfTime <= Time::max());
}

#ifdef EXAWARP_CHECKED
TEST(TimeDeathTest, AnOverflowIsAFaultWhereChecksAreOn) {
  volatile std::int64_t two = 2;
  EXPECT_DEATH(static_cast<void>(Time::max() + Time{two}), "stays within 64 bits.* 2");
  EXPECT_DEATH(static_cast<void>(Time{-2} - Time::max() - Time{two}), "stays within 64 bits");
  EXPECT_DEATH(static_cast<void>(kEndOfTime * two), "stays within 64 bits");
}
#endif

}  // namespace
}  // namespace exawarp::tests
