#include "core/time.h"

#include <gtest/gtest.h>

namespace exawarp::core {
namespace {
using namespace literals;

TEST(Time, TransferTimeIsExactAndRoundsUp) {
  EXPECT_EQ(transfer_time(50, 50'000'000'000), 1_ns);
  EXPECT_EQ(transfer_time(1, 3'000'000'000'000), 1_ps);
  EXPECT_EQ(transfer_time(0, 1), 0_ps);
}

TEST(Time, TransferTimeOfAPetabyteDoesNotOverflow) {
  EXPECT_EQ(transfer_time(1'000'000'000'000'000, 1'000'000'000'000), 1'000_s);
}

TEST(Time, SaturatingAddStopsAtTheEndOfTime) {
  EXPECT_EQ(saturating_add(Time::max() - 1_ps, 2_ps), Time::max());
  EXPECT_EQ(saturating_add(3_ps, 2_ps), 5_ps);
}

}  // namespace
}  // namespace exawarp::core
