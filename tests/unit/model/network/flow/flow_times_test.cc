// Completion times of traffic at flow fidelity against closed forms: 1 GB/s, links kHop, switches
// kSwitch, as in packet_times_test.cc.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/draws.h"
#include "tests/support/traffic_fixture.h"

namespace exawarp::tests {
namespace {

using core::Time;
using model::TrafficFidelity;
using model::TrafficModel;
using model::TrafficOptions;
using model::TrafficPattern;

tests::TrafficRun flows_over(const model::Topology& topology, const TrafficOptions& traffic,
                             const model::PacketOptions& packets = tests::plain_packets()) {
  return tests::run_traffic(TrafficModel(topology, packets, traffic, 0, TrafficFidelity::flow));
}

constexpr Time way_over(std::int64_t switches) {
  return (switches + 1) * kHop + switches * kSwitch;
}

std::shared_ptr<const model::FlowList> listed(std::vector<model::ListedFlow> flows) {
  return std::make_shared<const model::FlowList>(std::move(flows));
}

TEST(FlowTimes, ALoneMessageTakesItsLineAndItsLatency) {
  for (const std::uint32_t n : {1u, 2u, 5u}) {
    for (const std::int64_t bytes : {1, 1'000, 123'457}) {
      const auto topology = tests::chain(n, 1, 1);
      const auto run =
          flows_over(*topology, {.pattern = TrafficPattern::pairs, .message_bytes = bytes});
      ASSERT_EQ(run.flows.size(), 1u);
      EXPECT_EQ(run.flows[0].took, way_over(n) + line_time(bytes)) << n << " " << bytes;
    }
  }
}

TEST(FlowTimes, AnEmptyMessageTakesAPicosecondOfTheLine) {
  const auto topology = tests::chain(1, 1, 1);
  const auto run = flows_over(*topology, {.pattern = TrafficPattern::pairs, .message_bytes = 0});
  EXPECT_EQ(run.flows[0].took, way_over(1) + Time{1});
}

TEST(FlowTimes, AnIncastOfNTakesNTimesTheLine) {
  for (const std::uint32_t n : {2u, 3u, 7u}) {
    const auto topology = tests::chain(1, 1, n);
    const auto run = flows_over(
        *topology, {.pattern = TrafficPattern::incast, .message_bytes = 10'000, .senders = n});
    ASSERT_EQ(run.flows.size(), n);
    // A share is rounded down to a 2^47th of the line's rate, a time up to 1 ps.
    const Time exact = way_over(1) + n * line_time(10'000);
    for (const auto& flow : run.flows) {
      EXPECT_GE(flow.took, exact);
      EXPECT_LE(flow.took, exact + Time{1});
    }
    EXPECT_EQ(run.totals.flows.instants, 2u);  // all start at once, and all are over at once
    EXPECT_EQ(run.totals.flows.parts, 1u);
    EXPECT_EQ(run.totals.flows.largest_part, n);
  }
}

TEST(FlowTimes, WhoComesLaterSharesWhatIsLeftOfTheTime) {
  // Devices 1 and 2 to 0: the first alone for 4 us, then both at half the rate until it is over.
  const auto topology = tests::chain(1, 1, 2);
  const auto flows =
      listed({{.source = 1, .destination = 0, .bytes = 10'000, .start = Time{0}},
              {.source = 2, .destination = 0, .bytes = 10'000, .start = Time{4'000'000}}});
  const auto run =
      flows_over(*topology, {.pattern = TrafficPattern::flows, .flows = flows});
  ASSERT_EQ(run.flows.size(), 2u);
  EXPECT_EQ(run.flows[0].took, way_over(1) + line_time(4'000) + 2 * line_time(6'000));
  EXPECT_EQ(run.flows[1].took, way_over(1) + 2 * line_time(6'000) + line_time(4'000));
}

TEST(FlowTimes, MessagesBetweenTwoDevicesFollowEachOther) {
  // Three to device 0, two of them from device 1: these go one after the other, and have one share.
  const auto topology = tests::chain(1, 1, 2);
  const auto flows =
      listed({{.source = 1, .destination = 0, .bytes = 10'000, .start = Time{0}},
              {.source = 1, .destination = 0, .bytes = 10'000, .start = Time{1'000'000}},
              {.source = 2, .destination = 0, .bytes = 30'000, .start = Time{0}}});
  const auto run = flows_over(*topology, {.pattern = TrafficPattern::flows, .flows = flows});
  ASSERT_EQ(run.flows.size(), 3u);
  std::vector<Time> finished;
  for (const auto& flow : run.flows) finished.push_back(flow.finished);
  std::ranges::sort(finished);
  EXPECT_EQ(finished[0], way_over(1) + 2 * line_time(10'000));
  EXPECT_EQ(finished[1], way_over(1) + 4 * line_time(10'000));
  EXPECT_EQ(finished[2], way_over(1) + 5 * line_time(10'000));
}

TEST(FlowTimes, AParkingLotHoldsTheLongFlowBack) {
  // Devices 0 to 3 on leaf 0, 4 to 7 on leaf 1, one spine: 0 to 4, 1 to 5 share the ways up and
  // down; 2 to 3 has a leaf to itself.
  const auto topology = tests::leaf_spine(8, 4, 1);
  const auto flows = listed({{.source = 0, .destination = 4, .bytes = 8'000, .start = Time{0}},
                             {.source = 1, .destination = 5, .bytes = 4'000, .start = Time{0}},
                             {.source = 2, .destination = 3, .bytes = 8'000, .start = Time{0}}});
  const auto run =
      flows_over(*topology, {.pattern = TrafficPattern::flows, .flows = flows});
  ASSERT_EQ(run.flows.size(), 3u);
  const auto took = [&](std::uint32_t source) {
    return std::ranges::find(run.flows, source, &model::FlowTimes::Flow::source)->took;
  };
  EXPECT_EQ(took(1), way_over(3) + 2 * line_time(4'000));
  EXPECT_EQ(took(0), way_over(3) + 2 * line_time(4'000) + line_time(4'000));
  EXPECT_EQ(took(2), way_over(1) + line_time(8'000));
}

// Of random messages over two switches, in order of their ends.
std::vector<Time> random_ends(std::uint64_t seed, std::int64_t times) {
  tests::Draws draw(seed, 0xf10);
  std::vector<model::ListedFlow> flows;
  for (int i = 0; i < 40; ++i) {
    const std::uint32_t source = draw.below(9);
    flows.push_back({.source = source,
                     .destination = (source + draw.between(1, 8)) % 9,
                     .bytes = times * draw.between(1, 100'000),
                     .start = Time{draw.below(100'000'000)}});
  }
  std::ranges::stable_sort(flows, {}, &model::ListedFlow::start);
  const auto topology = tests::chain(2, 4, 5, times * kLineBytesPerS);
  const auto run =
      flows_over(*topology, {.pattern = TrafficPattern::flows, .flows = listed(std::move(flows))});
  std::vector<Time> ends;
  for (const auto& flow : run.flows) ends.push_back(flow.finished);
  return ends;
}

TEST(FlowTimes, SizesAndRatesThatAreNTimesAsLargeTakeTheSameTimeToThePicosecond) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto once = random_ends(seed, 1);
    for (const std::int64_t times : {2, 3, 10}) {
      ASSERT_EQ(random_ends(seed, times), once) << seed << " " << times;
    }
  }
}

TEST(FlowTimes, TheNextMessageOfADeviceWaitsForWordThatTheLastHasLeft) {
  const auto topology = tests::chain(1, 1, 1);
  const auto run = flows_over(*topology, {.pattern = TrafficPattern::pairs,
                                          .message_bytes = 1'000,
                                          .messages = 3});
  ASSERT_EQ(run.flows.size(), 3u);
  // Two notices of a 16th of the latency, and 2 ps.
  const Time gap = 2 * Time{way_over(1).ps / 16} + Time{2};
  EXPECT_EQ(run.flows[2].finished, way_over(1) + 3 * line_time(1'000) + 2 * gap);
}

TEST(FlowTimes, ARoutingOfSeveralWaysAMessageIsRefused) {
  const auto topology = tests::leaf_spine(8, 4, 2);
  model::PacketOptions packets = tests::plain_packets();
  packets.routing.policy = "spray";
  try {
    flows_over(*topology, {.pattern = TrafficPattern::permutation}, packets);
    FAIL() << "expected a refusal";
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(),
                 "packet network: routing: \"spray\" chooses a way for each packet, and a flow "
                 "has one; expected one of: deterministic, destination, ecmp, or fidelity: packet");
  }
}

}  // namespace
}  // namespace exawarp::tests
