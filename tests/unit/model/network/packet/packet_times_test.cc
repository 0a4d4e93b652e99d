// Completion times against closed forms: bytes over a line take `line_time`, links kHop, switches
// kSwitch.
#include <gtest/gtest.h>

#include "model/topology/torus.h"
#include "tests/support/traffic_fixture.h"

namespace exawarp::tests {
namespace {

using core::Time;
using model::FlowControl;
using model::PacketOptions;
using model::TrafficModel;
using model::TrafficPattern;

tests::TrafficRun one_message(std::uint32_t switches, std::int64_t bytes, PacketOptions options) {
  const auto topology = tests::chain(switches, 1, 1);
  const TrafficModel traffic(*topology, options,
                        {.pattern = TrafficPattern::pairs, .message_bytes = bytes}, 0);
  return tests::run_traffic(traffic);
}

TEST(PacketTimes, AStoredPacketPaysItsWireAtEachLink) {
  for (const std::uint32_t n : {1u, 2u, 5u}) {
    const tests::TrafficRun run = one_message(n, 1'000, tests::plain_packets());
    ASSERT_EQ(run.flows.size(), 1u);
    EXPECT_EQ(run.flows[0].took, (n + 1) * (kHop + line_time(1'000)) + n * kSwitch) << n;
    EXPECT_EQ(run.totals.packet_hops, n);
  }
}

TEST(PacketTimes, APacketThatIsCutThroughPaysItsWireOnce) {
  PacketOptions options = tests::plain_packets();
  options.cut_through = true;
  for (const std::uint32_t n : {1u, 2u, 5u}) {
    const tests::TrafficRun run = one_message(n, 1'000, options);
    EXPECT_EQ(run.flows[0].took, (n + 1) * kHop + n * kSwitch + line_time(1'000)) << n;
  }
}

TEST(PacketTimes, PacketsOfAMessageFollowEachOther) {
  // 10 packets, the last of 500 bytes; only the last one's wire is paid again at each link.
  const tests::TrafficRun run = one_message(3, 9'500, tests::plain_packets());
  EXPECT_EQ(run.flows[0].took, 4 * kHop + 3 * kSwitch + line_time(9'500 + 3 * 1'000));
  EXPECT_EQ(run.totals.packet_hops, 30u);
}

TEST(PacketTimes, HeadersTakeTimeOnTheLine) {
  PacketOptions options = tests::plain_packets();
  options.header_bytes = 50;
  const tests::TrafficRun run = one_message(1, 3'000, options);
  EXPECT_EQ(run.flows[0].took, 2 * kHop + kSwitch + line_time(3 * 1'050 + 1'050));
}

TEST(PacketTimes, AnEmptyMessageTakesOneByte) {
  const tests::TrafficRun run = one_message(1, 0, tests::plain_packets());
  EXPECT_EQ(run.flows[0].took, 2 * kHop + kSwitch + 2 * line_time(1));
}

TEST(PacketTimes, AFasterLinkIsNotStartedBeforeTheSlowerOneCanFeedIt) {
  model::GraphSpec spec;
  spec.devices = 2;
  spec.switches = 1;
  spec.kinds = {tests::round_link(), tests::round_link(4 * tests::kLineBytesPerS)};
  spec.wires = {{{0}, {2}, 0}, {{1}, {2}, 1}};
  spec.latencies = {.forwarding = kSwitch, .endpoint = Time{0}};
  const model::Graph topology(spec, "graph");
  PacketOptions options = tests::plain_packets();
  options.cut_through = true;
  const TrafficModel traffic(topology, options,
                        {.pattern = TrafficPattern::pairs, .message_bytes = 1'000}, 0);
  const tests::TrafficRun run = tests::run_traffic(traffic);
  EXPECT_EQ(run.flows[0].took, 2 * kHop + kSwitch + line_time(1'000));
}

TEST(PacketTimes, TheEndpointsLatencyIsPaidOnce) {
  model::ClosSpec spec;
  spec.devices_per_leaf = 2;
  spec.host = spec.leaf_spine = spec.spine_core = tests::round_link();
  spec.latencies = {.forwarding = kSwitch, .endpoint = Time{777'000}};
  const model::Clos topology(spec, 2);
  const TrafficModel traffic(topology, tests::plain_packets(),
                        {.pattern = TrafficPattern::pairs, .message_bytes = 1'000}, 0);
  EXPECT_EQ(tests::run_traffic(traffic).flows[0].took,
            Time{777'000} + 2 * (kHop + line_time(1'000)) + kSwitch);
}

// Three devices in a row; 2's message to 0 passes 1, which sends one of the same length there.
TEST(PacketTimes, OwnPacketsTakeTurnsWithThoseThatPass) {
  const model::Torus row({.dims = {3}, .wraps = false, .link = tests::round_link()});
  const TrafficModel traffic(
      row, tests::plain_packets(),
      {.pattern = TrafficPattern::incast, .message_bytes = 200'000, .senders = 2}, 0);
  const tests::TrafficRun run = tests::run_traffic(traffic);
  ASSERT_EQ(run.flows.size(), 2u);
  const Time last = kHop + line_time(400'000);
  EXPECT_EQ(run.flows[1].finished, last);
  EXPECT_GE(run.flows[0].finished, last - line_time(10'000));
}

TEST(PacketTimes, FlowsShareALineInTurn) {
  // Three senders meet at the line between two switches: it carries 3 x 20 packets without a gap,
  // and since they take turns the last of each is among the last three.
  for (const FlowControl control : {FlowControl::none, FlowControl::credit, FlowControl::pfc}) {
    PacketOptions options = tests::plain_packets();
    options.flow_control = control;
    if (control == FlowControl::credit) options.buffer_bytes = 16'000;
    options.xoff_bytes = 16'000;
    options.xon_bytes = 12'000;
    const auto topology = tests::chain(2, 3, 3);
    const TrafficModel traffic(*topology, options,
                          {.pattern = TrafficPattern::pairs, .message_bytes = 20'000}, 0);
    const tests::TrafficRun run = tests::run_traffic(traffic);
    ASSERT_EQ(run.flows.size(), 3u);
    const Time last = 3 * kHop + 2 * kSwitch + line_time(1'000 + 60'000 + 1'000);
    EXPECT_EQ(run.flows[2].finished, last) << static_cast<int>(control);
    EXPECT_GE(run.flows[0].finished, last - line_time(3'000)) << static_cast<int>(control);
    EXPECT_EQ(run.totals.drops, 0u);
    EXPECT_EQ(run.totals.unfinished, 0u);
  }
}

TEST(PacketTimes, IncastTakesTheTimeOfAllBytesOnTheLastLine) {
  for (const std::uint32_t n : {2u, 7u, 15u}) {
    const auto topology = tests::leaf_spine(16, 4, 4);
    const TrafficModel traffic(
        *topology, tests::plain_packets(),
        {.pattern = TrafficPattern::incast, .message_bytes = 30'000, .senders = n}, 0);
    const tests::TrafficRun run = tests::run_traffic(traffic);
    ASSERT_EQ(run.flows.size(), n);
    // The first packets come from the same leaf and keep the line busy from then on.
    EXPECT_EQ(run.flows.back().finished,
              2 * kHop + kSwitch + line_time(1'000) + line_time(30'000) * n);
  }
}

TEST(PacketTimes, MessagesOfADeviceTakeTurnsOnItsLine) {
  const auto topology = tests::chain(1, 1, 2);
  PacketOptions options = tests::plain_packets();
  options.commit_packets = 1;  // so the first has two packets on the line when the second comes
  const TrafficModel traffic(*topology, options,
                        {.pattern = TrafficPattern::outcast,
                         .message_bytes = 10'000,
                         .senders = 2,
                         .concurrent = 2},
                        0);
  const tests::TrafficRun run = tests::run_traffic(traffic);
  const Time path = 2 * kHop + kSwitch + line_time(1'000);
  EXPECT_EQ(run.flows[0].finished, path + line_time(2'000 + 2 * 8'000));
  EXPECT_EQ(run.flows[1].finished, path + line_time(20'000));
}

TEST(PacketTimes, ALoneMessageTakesOneEventAPacketAndHop) {
  const tests::TrafficRun run = one_message(4, 64'000, tests::plain_packets());
  // 64 packets over 5 links, and a header. The line is given what starts within 8 packets, so 9 at
  // first; the endpoint wakes when all but 4 have left, and gives it 5.
  EXPECT_EQ(run.statistics.committed_events(), 64u * 5 + 1 + (64 - 9) / 5);
}

}  // namespace
}  // namespace exawarp::tests
