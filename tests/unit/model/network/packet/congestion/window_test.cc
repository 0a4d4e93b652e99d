// A window by delay: steps by hand. Flows that share a line: tests/golden.
#include <gtest/gtest.h>

#include "tests/support/congestion_steps.h"

namespace exawarp::tests {
namespace {

using core::Time;

TEST(Window, GrowsByAPacketARoundTripAndShrinksWithTheDelay) {
  CongestionSteps c("window", {{"window.initial_packets", 10}, {"window.flow_scaling", 0}});
  c.acknowledged(Time{1'000'000}, 10, Time{15'000'000});
  EXPECT_EQ(c.packets_max(), 11u);
  // 40 us against a target of 10 + 10 us: beta (40 - 20) / 40 = 0.4 less, once a round trip.
  c.acknowledged(Time{2'000'000}, 1, Time{40'000'000});
  EXPECT_EQ(c.packets_max(), 6u);
  c.acknowledged(Time{3'000'000}, 1, Time{40'000'000});
  EXPECT_EQ(c.packets_max(), 6u);
}

TEST(Window, ASmallWindowMayWaitLonger) {
  // Swift's scaling: the whole of it at a tenth of a packet, nothing at 100 packets; at one packet
  // (1 - 0.1) / (3.1623 - 0.1) = 0.2939 of it.
  const model::GivenParameters given{{"window.initial_packets", 1},
                                     {"window.flow_scaling", 100'000'000}};
  CongestionSteps early("window", given);
  early.acknowledged(Time{1'000'000}, 1, Time{20'000'000 + 29'300'000});
  EXPECT_EQ(early.packets_max(), 2u);
  CongestionSteps late("window", given);
  late.acknowledged(Time{1'000'000}, 1, Time{20'000'000 + 29'500'000});
  EXPECT_LT(late.field("window"), std::int64_t{1} << 16);
}

}  // namespace
}  // namespace exawarp::tests
