// Which messages of a device follow each other, and which take turns.
#include <gtest/gtest.h>

#include <memory>

#include "tests/support/traffic_fixture.h"

namespace exawarp::tests {
namespace {

using core::Time;
using model::ListedFlow;
using model::PacketOptions;
using model::Recovery;
using model::TrafficOptions;
using model::TrafficPattern;

constexpr std::int64_t kPackets = 100;
constexpr std::int64_t kBytes = kPackets * 1'000;
constexpr Time kAlone = tests::line_time(kBytes);

tests::TrafficRun run(const PacketOptions& network, std::vector<ListedFlow> flows,
                      bool one_by_one = false) {
  const auto topology = tests::leaf_spine(8, 2, 2);
  const TrafficOptions options{.pattern = TrafficPattern::flows,
                               .one_by_one = one_by_one,
                               .flows = std::make_shared<const model::FlowList>(std::move(flows))};
  const model::TrafficModel traffic(*topology, network, options, 0);
  tests::TrafficRun run = tests::run_traffic(traffic);
  EXPECT_EQ(run.totals.received, traffic.messages());
  EXPECT_EQ(run.totals.unfinished, 0u);
  return run;
}

// When messages had come, in that order.
std::vector<Time> ends_of(const PacketOptions& network, std::vector<ListedFlow> flows,
                          bool one_by_one = false) {
  std::vector<Time> ends;
  for (const model::FlowTimes::Flow& flow : run(network, std::move(flows), one_by_one).flows) {
    ends.push_back(flow.finished);
  }
  return ends;
}

// To within the packets of a line that were given it ahead, and their way.
void expect_about(Time is, Time expected) {
  const Time margin = tests::line_time(20'000);
  EXPECT_GT(is, expected - margin);
  EXPECT_LT(is, expected + margin);
}

TEST(Order, MessagesToOneDeviceFollowEachOther) {
  const std::vector<ListedFlow> three(3, {0, 2, kBytes, Time{0}});
  const std::vector<Time> ends = ends_of(tests::plain_packets(), three);
  for (std::size_t i = 0; i < 3; ++i) {
    expect_about(ends[i], kAlone * static_cast<std::int64_t>(i + 1));
  }
}

TEST(Order, OrTakeTurnsWhereThatIsAskedFor) {
  PacketOptions o = tests::plain_packets();
  o.in_order = false;
  for (const Time end : ends_of(o, std::vector<ListedFlow>(3, {0, 2, kBytes, Time{0}}))) {
    expect_about(end, kAlone * 3);
  }
}

TEST(Order, MessagesToSeveralDevicesTakeTurns) {
  for (const Time end :
       ends_of(tests::plain_packets(),
               {{0, 2, kBytes, Time{0}}, {0, 4, kBytes, Time{0}}, {0, 6, kBytes, Time{0}}})) {
    expect_about(end, kAlone * 3);
  }
}

TEST(Order, OneByOneTheyFollowEachOtherToWhomever) {
  for (const bool trains : {false, true}) {
    PacketOptions o = tests::plain_packets();
    o.trains = trains;
    const std::vector<Time> ends = ends_of(
        o, {{0, 2, kBytes, Time{0}}, {0, 4, kBytes, Time{0}}, {0, 6, kBytes, Time{0}}}, true);
    for (std::size_t i = 0; i < 3; ++i) {
      expect_about(ends[i], kAlone * static_cast<std::int64_t>(i + 1));
    }
  }
}

TEST(Order, MessagesOfSeveralQueuePairsTakeTurns) {
  PacketOptions o = tests::plain_packets();
  o.routing.policy = "ecmp";
  o.parameters = {{"queue_pairs", 2}};
  // Two by one pair and two by the other: each two take turns.
  const std::vector<Time> ends = ends_of(o, std::vector<ListedFlow>(4, {0, 2, kBytes, Time{0}}));
  expect_about(ends[0], kAlone * 2);
  expect_about(ends[1], kAlone * 2);
  expect_about(ends[2], kAlone * 4);
  expect_about(ends[3], kAlone * 4);
}

// One that comes when the connection is idle again begins at once.
TEST(Order, AConnectionEndsWithItsLastMessage) {
  const std::vector<Time> ends =
      ends_of(tests::plain_packets(), {{0, 2, kBytes, Time{0}}, {0, 2, kBytes, kAlone * 5}});
  expect_about(ends[0], kAlone);
  expect_about(ends[1], kAlone * 6);
}

// What was lost of one is repeated while the next goes on.
TEST(Order, LossesOfOneDoNotStopTheNext) {
  for (const Recovery recovery : {Recovery::go_back_n, Recovery::selective_repeat}) {
    PacketOptions o = tests::plain_packets();
    o.buffer_bytes = 6'000;
    o.recovery = recovery;
    std::vector<ListedFlow> flows(2, {0, 2, kBytes, Time{0}});
    for (const std::uint32_t from : {4u, 6u}) flows.push_back({from, 2, kBytes, Time{0}});
    EXPECT_GT(run(o, flows).totals.repeated, 0u);
  }
}

}  // namespace
}  // namespace exawarp::tests
