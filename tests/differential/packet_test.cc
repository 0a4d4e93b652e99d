// Packet fidelity in every mode: one digest, and the same completion times.
#include <gtest/gtest.h>

#include "model/topology/dragonfly.h"
#include "tests/support/traffic_fixture.h"

namespace exawarp::tests {
namespace {

using model::FlowControl;
using model::PacketOptions;
using model::Recovery;
using model::TrafficPattern;

PacketOptions busy_network(FlowControl control) {
  PacketOptions o = tests::plain_packets();
  o.cut_through = true;
  o.flow_control = control;
  o.buffer_bytes = 12'000;
  o.xoff_bytes = 6'000;
  o.xon_bytes = 4'000;
  o.ecn = {.kmin_bytes = 3'000, .kmax_bytes = 9'000, .pmax_per_mille = 300};
  o.routing.policy = "ugal";
  switch (control) {
    case FlowControl::none:
      o.transport = "window";
      o.recovery = Recovery::selective_repeat;
      break;
    case FlowControl::credit:
      break;
    case FlowControl::pfc:
      o.transport = "dcqcn";
      break;
  }
  return o;
}

model::Dragonfly small_dragonfly() {
  return model::Dragonfly({.devices_per_router = 2,
                           .routers = 4,
                           .global_links = 1,
                           .groups = 5,
                           .arrangement = model::GlobalLinks::absolute,
                           .host = tests::round_link(),
                           .local = tests::round_link(),
                           .global = tests::round_link(),
                           .latencies = {tests::kSwitch, core::Time{0}}});
}

// Every mode gives what a sequential run does, in which so many messages are received.
void expect_one_digest(const model::TrafficModel& traffic, std::uint64_t received) {
  const tests::TrafficRun expected = tests::run_traffic(traffic, {}, 1);
  EXPECT_EQ(expected.totals.received, received);
  std::uint64_t rolled_back = 0;
  for (tests::RunCase run : tests::differential_cases(core::Time{150'000})) {
    const tests::TrafficRun result = tests::run_traffic(traffic, run, 1);
    EXPECT_EQ(result.digest, expected.digest) << run.text();
    EXPECT_EQ(result.flows, expected.flows) << run.text();
    rolled_back += result.statistics.rolled_back_events;
  }
  EXPECT_GT(rolled_back, 0u);
}

void expect_audit_to_pass(const model::TrafficModel& traffic) {
  const tests::TrafficRun expected = tests::run_traffic(traffic, {}, 1);
  const tests::TrafficRun result =
      tests::run_traffic(traffic, tests::audited_case(core::Time{2'000'000}, 0.5), 1);
  EXPECT_EQ(result.digest, expected.digest);
  EXPECT_GT(result.statistics.audited_events, 500u);
}

class PacketDifferential : public testing::TestWithParam<FlowControl> {
 protected:
  model::Dragonfly topology_ = small_dragonfly();
  model::TrafficModel traffic_{
      topology_,
      busy_network(GetParam()),
      {.pattern = TrafficPattern::shift, .message_bytes = 5'000, .messages = 2, .shift = 8},
      1};
};

TEST_P(PacketDifferential, EveryModeGivesTheSequentialDigest) {
  expect_one_digest(traffic_, 80);
}

TEST_P(PacketDifferential, PassesTheRollbackAudit) {
  expect_audit_to_pass(traffic_);
}

// Trains, which meet, are cut and go on.
class Trains : public testing::Test {
 protected:
  static PacketOptions with_trains() {
    PacketOptions o = tests::plain_packets();
    o.cut_through = true;
    o.trains = true;
    return o;
  }
  model::Dragonfly topology_ = small_dragonfly();
  model::TrafficModel traffic_{topology_,
                               with_trains(),
                               {.pattern = TrafficPattern::shift,
                                .message_bytes = 40'000,
                                .messages = 3,
                                .shift = 8,
                                .concurrent = 2},
                               1};
};

TEST_F(Trains, GiveTheSequentialDigestInEveryMode) {
  ASSERT_TRUE(traffic_.packet_network().trains());
  expect_one_digest(traffic_, 120);
}

TEST_F(Trains, PassTheRollbackAudit) {
  expect_audit_to_pass(traffic_);
}

// The same with a link that goes for good, a router that is away for a while, and slow links, under
// adaptive routing.
class FaultyPackets : public testing::TestWithParam<FlowControl> {
 protected:
  static PacketOptions faulty(FlowControl control) {
    PacketOptions o = busy_network(control);
    o.routing.policy = "adaptive";
    o.recovery = Recovery::selective_repeat;
    o.latency_jitter.mean = core::Time{40'000};
    model::LinkFaultSpec gone{.place = "test"};
    gone.links = {{.at = {false, 4}, .to = {false, 5}}};
    gone.from = core::Time{4'000'000};
    model::LinkFaultSpec away{.switches = {9}, .place = "test"};
    away.from = core::Time{10'000'000};
    away.until = core::Time{40'000'000};
    model::LinkFaultSpec slow{.factor_ppm = 2'500'000, .place = "test"};
    slow.drawn_links = model::FaultDraw{0.2, "", 7};
    slow.until = core::Time{30'000'000};
    o.link_faults = {gone, away, slow};
    return o;
  }
  model::Dragonfly topology_ = small_dragonfly();
  model::TrafficModel traffic_{
      topology_,
      faulty(GetParam()),
      {.pattern = TrafficPattern::shift, .message_bytes = 5'000, .messages = 1, .shift = 8},
      1};
};

TEST_P(FaultyPackets, GiveTheSequentialDigestInEveryMode) {
  const tests::TrafficRun expected = tests::run_traffic(traffic_, {}, 1);
  EXPECT_EQ(expected.totals.received, 40u);
  EXPECT_EQ(expected.totals.unfinished, 0u);
  EXPECT_GT(expected.totals.drops, 0u);
  std::uint64_t rolled_back = 0;
  for (tests::RunCase run : tests::differential_cases(core::Time{150'000})) {
    const tests::TrafficRun result = tests::run_traffic(traffic_, run, 1);
    EXPECT_EQ(result.digest, expected.digest) << run.text();
    rolled_back += result.statistics.rolled_back_events;
  }
  EXPECT_GT(rolled_back, 0u);
}

TEST_P(FaultyPackets, PassTheRollbackAudit) {
  const tests::TrafficRun expected = tests::run_traffic(traffic_, {}, 1);
  const tests::TrafficRun result =
      tests::run_traffic(traffic_, tests::audited_case(core::Time{2'000'000}, 0.5), 1);
  EXPECT_EQ(result.digest, expected.digest);
  EXPECT_GT(result.statistics.audited_events, 500u);
}

INSTANTIATE_TEST_SUITE_P(FlowControls, FaultyPackets,
                         testing::Values(FlowControl::none, FlowControl::credit, FlowControl::pfc));

INSTANTIATE_TEST_SUITE_P(FlowControls, PacketDifferential,
                         testing::Values(FlowControl::none, FlowControl::credit, FlowControl::pfc));

}  // namespace
}  // namespace exawarp::tests
