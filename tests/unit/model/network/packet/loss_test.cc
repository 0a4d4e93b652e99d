// Losses: dropped packets still arrive, by go-back-n and by selective repeat.
#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/support/traffic_fixture.h"

namespace exawarp::tests {
namespace {

using model::PacketOptions;
using model::Recovery;
using model::TrafficPattern;

PacketOptions dropping(Recovery recovery, const char* transport) {
  PacketOptions o = tests::plain_packets();
  o.buffer_bytes = 6'000;  // less than the windows of two senders
  o.recovery = recovery;
  o.transport = transport;
  return o;
}

TEST(Loss, DroppedPacketsAreRepeatedUntilAllHaveCome) {
  for (const Recovery recovery : {Recovery::go_back_n, Recovery::selective_repeat}) {
    for (const char* transport : {"plain", "window"}) {
      const auto topology = tests::chain(2, 4, 4);
      const model::TrafficModel traffic(
          *topology, dropping(recovery, transport),
          {.pattern = TrafficPattern::pairs, .message_bytes = 200'000}, 0);
      const tests::TrafficRun run = tests::run_traffic(traffic);
      EXPECT_EQ(run.totals.received, 4u);
      EXPECT_EQ(run.totals.unfinished, 0u);
      EXPECT_GT(run.totals.drops, 0u);
      EXPECT_GT(run.totals.repeated, 0u);
    }
  }
}

TEST(Loss, SelectiveRepeatSendsLessAgain) {
  const auto repeated = [](Recovery recovery) {
    const auto topology = tests::chain(2, 2, 2);
    const model::TrafficModel traffic(
        *topology, dropping(recovery, "window"),
        {.pattern = TrafficPattern::pairs, .message_bytes = 400'000}, 0);
    return tests::run_traffic(traffic).totals.repeated;
  };
  EXPECT_LT(repeated(Recovery::selective_repeat), repeated(Recovery::go_back_n));
}

TEST(Loss, NothingIsRepeatedWhereNothingIsLost) {
  for (const Recovery recovery : {Recovery::go_back_n, Recovery::selective_repeat}) {
    PacketOptions o = dropping(recovery, "plain");
    o.buffer_bytes = 0;
    o.retransmit_timeout = core::Time{10'000'000'000};
    const auto topology = tests::chain(3, 2, 2);
    const model::TrafficModel traffic(*topology, o,
                                      {.pattern = TrafficPattern::pairs, .message_bytes = 99'000},
                                      0);
    const tests::TrafficRun run = tests::run_traffic(traffic);
    EXPECT_EQ(run.totals.repeated, 0u);
    EXPECT_EQ(run.totals.received, 2u);
  }
}

TEST(PacketOptions, ContradictionsAreRefusedInOneLine) {
  const auto text = [](const PacketOptions& o) -> std::string {
    const auto topology = tests::chain(1, 1, 1);
    try {
      model::PacketNetwork network(*topology, o, 0);
    } catch (const core::InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  PacketOptions o = dropping(Recovery::none, "plain");
  EXPECT_EQ(text(o),
            "packet network: recovery: \"none\" with queues that drop; expected go_back_n or "
            "selective_repeat");
  o = tests::plain_packets();
  o.flow_control = model::FlowControl::credit;
  EXPECT_EQ(text(o),
            "packet network: buffer: \"0 B\" an input and channel; credits need 4 packets, 4000 B, "
            "at least");
  o = tests::plain_packets();
  o.transport = "dcqcn";
  EXPECT_EQ(text(o), "packet network: ecn: no marking; dcqcn needs kmin and kmax");
  o = tests::plain_packets();
  o.packet_bytes = 8;
  EXPECT_EQ(text(o), "packet network: packet_size: \"8 B\"; expected 64 B to 16 MiB");
}

}  // namespace
}  // namespace exawarp::tests
