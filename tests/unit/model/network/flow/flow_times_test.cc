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

TEST(FlowTimes, OneByOneTheyFollowEachOtherToWhomever) {
  const auto topology = tests::chain(1, 1, 4);
  const auto flows = listed({{.source = 1, .destination = 0, .bytes = 10'000, .start = Time{0}},
                             {.source = 1, .destination = 2, .bytes = 20'000, .start = Time{0}},
                             {.source = 1, .destination = 3, .bytes = 5'000, .start = Time{0}}});
  const auto run =
      flows_over(*topology, {.pattern = TrafficPattern::flows, .one_by_one = true, .flows = flows});
  ASSERT_EQ(run.flows.size(), 3u);
  EXPECT_EQ(run.flows[0].finished, way_over(1) + line_time(10'000));
  EXPECT_EQ(run.flows[1].finished, way_over(1) + line_time(30'000));
  EXPECT_EQ(run.flows[2].finished, way_over(1) + line_time(35'000));
}

// Messages of one switch's devices whose devices send them one by one, by a simulator of its own:
// when each has left, in seconds. Shares by progressive filling over lines out and in.
std::vector<double> ends_one_by_one(const std::vector<model::ListedFlow>& flows,
                                    std::uint32_t devices) {
  constexpr double kLine = static_cast<double>(kLineBytesPerS);
  std::vector<double> left, ends(flows.size(), -1);
  for (const auto& flow : flows) left.push_back(static_cast<double>(flow.bytes));
  double now = 0;
  for (;;) {
    std::vector<std::size_t> heads;  // the first of each device that is not over
    for (std::uint32_t d = 0; d < devices; ++d) {
      for (std::size_t i = 0; i < flows.size(); ++i) {
        if (flows[i].source != d || ends[i] >= 0) continue;
        heads.push_back(i);
        break;
      }
    }
    if (heads.empty()) return ends;
    std::vector<double> rate(flows.size(), 0), room(devices, kLine);
    for (std::vector<std::size_t> open = heads; !open.empty();) {
      std::vector<double> coming(devices, 0);
      for (const std::size_t i : open) coming[flows[i].destination] += 1;
      double least = kLine;
      for (const std::size_t i : open) {
        const std::uint32_t to = flows[i].destination;
        least = std::min(least, room[to] / coming[to]);
      }
      std::vector<std::size_t> rest;
      const std::vector<double> before = room;
      for (const std::size_t i : open) {
        const std::uint32_t to = flows[i].destination;
        const bool is_held = least >= kLine || before[to] / coming[to] <= least * (1 + 1e-12);
        if (!is_held) {
          rest.push_back(i);
          continue;
        }
        rate[i] = least;
        room[to] -= least;
      }
      open = rest;
    }
    double step = 1e9;
    for (const std::size_t i : heads) step = std::min(step, left[i] / rate[i]);
    now += step;
    for (const std::size_t i : heads) {
      left[i] -= rate[i] * step;
      if (left[i] < 1e-6) ends[i] = now;
    }
  }
}

// Equal sizes are drawn often: then messages end, and others begin, in one instant.
TEST(FlowTimes, OneByOneTheyTakeWhatSharesOfLinesSay) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    tests::Draws draw(seed, 0x1b1);
    const std::uint32_t devices = draw.between(2, 7);
    std::vector<model::ListedFlow> flows;
    const std::uint32_t messages = draw.between(1, 30);
    for (std::uint32_t i = 0; i < messages; ++i) {
      const std::uint32_t source = draw.below(devices);
      flows.push_back({.source = source,
                       .destination = (source + draw.between(1, devices - 1)) % devices,
                       .bytes = std::int64_t{10'000} * (draw.chance(2) ? 1 : draw.between(1, 5)),
                       .start = Time{0}});
    }
    const std::vector<double> expected = ends_one_by_one(flows, devices);
    const auto topology = tests::chain(1, 1, devices - 1);
    const auto run = flows_over(
        *topology, {.pattern = TrafficPattern::flows, .one_by_one = true, .flows = listed(flows)});
    ASSERT_EQ(run.flows.size(), flows.size());
    std::vector<double> sorted = expected, took;
    for (const auto& flow : run.flows) took.push_back(core::to_seconds(flow.finished));
    std::ranges::sort(sorted);
    std::ranges::sort(took);
    for (std::size_t i = 0; i < took.size(); ++i) {
      ASSERT_NEAR(took[i], core::to_seconds(way_over(1)) + sorted[i], 1e-10) << seed << " " << i;
    }
  }
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
