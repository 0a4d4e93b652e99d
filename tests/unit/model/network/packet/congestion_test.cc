// Congestion control: steps by hand. Flows that share a line: tests/golden.
#include "model/network/packet/congestion.h"

#include <gtest/gtest.h>

namespace exawarp {
namespace {

using core::Time;
using model::Congestion;
using model::CongestionControl;
using model::PacketOptions;
using model::Transport;

constexpr std::int64_t kLine = 50'000'000'000;

PacketOptions dcqcn_options() {
  PacketOptions o;
  o.transport = Transport::dcqcn;
  o.ecn = {.kmin_bytes = 1, .kmax_bytes = 1};
  return o;
}

TEST(Dcqcn, TheFirstNotificationHalvesTheRate) {
  const PacketOptions o = dcqcn_options();
  const CongestionControl control(o, kLine, 4'096);
  Congestion c = control.start(Time{10'000'000});
  control.notified(c, Time{0});
  EXPECT_EQ(c.rate, kLine / 2);  // alpha starts at 1
  EXPECT_EQ(c.target_rate, kLine);
}

TEST(Dcqcn, FastRecoveryHalvesTheDistanceToTheTargetEachPeriod) {
  const PacketOptions o = dcqcn_options();
  const CongestionControl control(o, kLine, 4'096);
  Congestion c = control.start(Time{10'000'000});
  control.notified(c, Time{0});
  const Time start = o.dcqcn.increase_period * 3;
  control.packet_sent(c, start, start + Time{81'920}, 4'096);
  EXPECT_EQ(c.rate, kLine - kLine / 16);  // 1/2, 1/4, 1/8, 1/16 short of the line
  EXPECT_EQ(c.timer_steps, 3);
}

TEST(Dcqcn, ALimitedRateSpacesPackets) {
  const PacketOptions o = dcqcn_options();
  const CongestionControl control(o, kLine, 4'096);
  Congestion c = control.start(Time{10'000'000});
  control.notified(c, Time{0});
  // 4,096 B at 25 GB/s take 163,840 ps.
  EXPECT_EQ(control.packet_sent(c, Time{1'000}, Time{82'920}, 4'096), Time{164'840});
}

TEST(Dcqcn, AlphaDecaysByItsGain) {
  const PacketOptions o = dcqcn_options();
  const CongestionControl control(o, kLine, 4'096);
  Congestion c = control.start(Time{10'000'000});
  control.notified(c, Time{0});
  control.notified(c, o.dcqcn.alpha_period * 100);
  // (255/256)^100 = 0.6761 of the full cut at the second notification, then g up.
  const double alpha = static_cast<double>(c.alpha) / (1 << CongestionControl::kAlphaShift);
  EXPECT_NEAR(alpha, 0.6761 + (1 - 0.6761) / 256, 0.001);
}

TEST(Window, GrowsByAPacketARoundTripAndShrinksWithTheDelay) {
  PacketOptions o;
  o.transport = Transport::window;
  o.window.initial_packets = 10;
  o.window.flow_scaling = Time{0};
  const CongestionControl control(o, kLine, 4'096);
  Congestion c = control.start(Time{10'000'000});
  control.acknowledged(c, Time{1'000'000}, 10, Time{15'000'000});
  EXPECT_EQ(control.packets_max(c), 11u);
  // 40 us against a target of 10 + 10 us: beta (40 - 20) / 40 = 0.4 less, once a round trip.
  control.acknowledged(c, Time{2'000'000}, 1, Time{40'000'000});
  EXPECT_EQ(control.packets_max(c), 6u);
  control.acknowledged(c, Time{3'000'000}, 1, Time{40'000'000});
  EXPECT_EQ(control.packets_max(c), 6u);
}

TEST(Window, ASmallWindowMayWaitLonger) {
  // Swift's scaling: the whole of it at a tenth of a packet, nothing at 100 packets; at one packet
  // (1 - 0.1) / (3.1623 - 0.1) = 0.2939 of it.
  PacketOptions o;
  o.transport = Transport::window;
  o.window.initial_packets = 1;
  o.window.flow_scaling = Time{100'000'000};
  const CongestionControl control(o, kLine, 4'096);
  Congestion c = control.start(Time{10'000'000});
  control.acknowledged(c, Time{1'000'000}, 1, Time{20'000'000 + 29'300'000});
  EXPECT_EQ(control.packets_max(c), 2u);
  Congestion late = control.start(Time{10'000'000});
  control.acknowledged(late, Time{1'000'000}, 1, Time{20'000'000 + 29'500'000});
  EXPECT_LT(late.window, std::uint64_t{1} << CongestionControl::kWindowShift);
}

}  // namespace
}  // namespace exawarp
