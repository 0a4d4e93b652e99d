// DCQCN: steps by hand. Flows that share a line: tests/golden.
#include <gtest/gtest.h>

#include "tests/support/congestion_steps.h"

namespace exawarp::tests {
namespace {

using core::Time;

constexpr std::int64_t kLine = CongestionSteps::kLine;

TEST(Dcqcn, TheFirstNotificationHalvesTheRate) {
  CongestionSteps c("dcqcn");
  c.notified(Time{0});
  EXPECT_EQ(c.field("rate"), kLine / 2);  // alpha starts at 1
  EXPECT_EQ(c.field("target_rate"), kLine);
}

TEST(Dcqcn, FastRecoveryHalvesTheDistanceToTheTargetEachPeriod) {
  CongestionSteps c("dcqcn");
  c.notified(Time{0});
  const Time start = c.parameters.time("increase_period") * 3;
  c.sent(start, start + Time{81'920}, 4'096);
  EXPECT_EQ(c.field("rate"), kLine - kLine / 16);  // 1/2, 1/4, 1/8, 1/16 short of the line
  EXPECT_EQ(c.field("timer_steps"), 3);
}

TEST(Dcqcn, ALimitedRateSpacesPackets) {
  CongestionSteps c("dcqcn");
  c.notified(Time{0});
  // 4,096 B at 25 GB/s take 163,840 ps.
  EXPECT_EQ(c.sent(Time{1'000}, Time{82'920}, 4'096), Time{164'840});
}

TEST(Dcqcn, AlphaDecaysByItsGain) {
  CongestionSteps c("dcqcn");
  c.notified(Time{0});
  c.notified(c.parameters.time("alpha_period") * 100);
  // (255/256)^100 = 0.6761 of the full cut at the second notification, then g up.
  const double alpha = static_cast<double>(c.field("alpha")) / (1 << 24);
  EXPECT_NEAR(alpha, 0.6761 + (1 - 0.6761) / 256, 0.001);
}

}  // namespace
}  // namespace exawarp::tests
