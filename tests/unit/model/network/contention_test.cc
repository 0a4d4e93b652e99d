// Contention against closed forms. Each test says how far a packet network may be from its formula
// and why.
#include <gtest/gtest.h>

#include <cmath>

#include "model/topology/dragonfly.h"
#include "tests/support/traffic_fixture.h"

namespace exawarp {
namespace {

using core::Time;
using model::FlowControl;
using model::PacketOptions;
using model::RoutingPolicy;
using model::TrafficModel;
using model::TrafficPattern;
using test::kHop;
using test::kSwitch;
using test::line_time;

PacketOptions with_credits() {
  PacketOptions o = test::plain_packets();
  o.flow_control = FlowControl::credit;
  o.buffer_bytes = 32'000;
  return o;
}

PacketOptions with_pauses() {
  PacketOptions o = test::plain_packets();
  o.flow_control = FlowControl::pfc;
  o.xoff_bytes = 10'000;
  o.xon_bytes = 8'000;
  return o;
}

TEST(Contention, AnOversubscribedUpLinkTakesTheTimeOfAllItsBytes) {
  // 8 devices a leaf, one spine: each leaf's up-link carries 8 messages. All bytes in one row, from
  // when the first packet reaches the leaf; exact.
  for (const PacketOptions& options : {test::plain_packets(), with_credits(), with_pauses()}) {
    const auto topology = test::leaf_spine(32, 8, 1);
    const TrafficModel traffic(
        *topology, options,
        {.pattern = TrafficPattern::shift, .message_bytes = 50'000, .shift = 8}, 0);
    const test::TrafficRun run = test::run_traffic(traffic);
    ASSERT_EQ(run.flows.size(), 32u);
    EXPECT_EQ(run.flows.back().finished,
              4 * kHop + 3 * kSwitch + line_time(1'000 + 8 * 50'000 + 2'000));
    EXPECT_EQ(run.totals.drops, 0u);
  }
}

TEST(Contention, KFlowsOverOneLinkGetEqualShares) {
  // Equal messages that start together end within a packet of each other flow; where feedback
  // holds packets back, within the 8 packets that are sent or allowed at a time.
  for (const std::uint32_t k : {2u, 5u, 8u}) {
    for (const PacketOptions& options : {test::plain_packets(), with_credits(), with_pauses()}) {
      const auto topology = test::chain(2, k, k);
      const TrafficModel traffic(*topology, options,
                            {.pattern = TrafficPattern::pairs, .message_bytes = 1'000'000}, 0);
      const test::TrafficRun run = test::run_traffic(traffic);
      const Time spread = run.flows.back().finished - run.flows.front().finished;
      const std::int64_t packets = options.flow_control == FlowControl::none ? 1 : 8;
      EXPECT_LE(spread, line_time(1'000) * packets * (k - 1)) << k;
    }
  }
}

TEST(Contention, EcmpCollidesAsBallsInBins) {
  // n flows of one leaf over n spines: the share of used up-links is 1 - (1 - 1/n)^n on average,
  // and the slowest flow takes as long as the fullest link's bytes. Over 60 seeds the mean's
  // standard error is below 0.01; 4 of them are allowed.
  constexpr std::uint32_t n = 16, seeds = 60;
  constexpr std::int64_t bytes = 20'000;
  double used = 0;
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    const auto topology = test::leaf_spine(2 * n, n, n);
    PacketOptions options = test::plain_packets();
    options.routing.seed = seed;
    const TrafficModel traffic(*topology, options,
                          {.pattern = TrafficPattern::pairs, .message_bytes = bytes}, 0);
    const model::PacketNetwork& network = traffic.packet_network();
    std::array<std::uint32_t, n> flows_of_spine{};
    for (std::uint32_t d = 0; d < n; ++d) {
      const model::Flow flow{{d}, {d + n}, 0};
      const model::VertexId leaf = topology->vertex_of_switch(0);
      const std::uint32_t port =
          model::ecmp_port(topology->minimal(leaf, {d + n}),
                           model::flow_hash(network.options().routing.seed, flow), leaf);
      ++flows_of_spine[port - n];
    }
    std::uint32_t fullest = 0;
    for (const std::uint32_t flows : flows_of_spine) {
      used += flows != 0 ? 1.0 / n : 0;
      fullest = std::max(fullest, flows);
    }
    const test::TrafficRun run = test::run_traffic(traffic);
    EXPECT_EQ(run.totals.busiest_bytes, static_cast<std::uint64_t>(bytes) * fullest);
    EXPECT_EQ(run.flows.back().finished,
              4 * kHop + 3 * kSwitch + line_time(1'000 + bytes * fullest + 2'000));
  }
  EXPECT_NEAR(used / seeds, 1 - std::pow(1 - 1.0 / n, n), 0.04);
}

TEST(Contention, SprayingAvoidsCollisions) {
  // The same flows, sprayed or placed by queue depth, finish in little more than one message's
  // time: random queues stay short against 400 packets.
  for (const RoutingPolicy policy : {RoutingPolicy::spray, RoutingPolicy::adaptive}) {
    const auto topology = test::leaf_spine(32, 16, 16);
    PacketOptions options = test::plain_packets();
    options.routing.policy = policy;
    const TrafficModel traffic(*topology, options,
                          {.pattern = TrafficPattern::pairs, .message_bytes = 400'000}, 0);
    const Time alone = 4 * kHop + 3 * kSwitch + line_time(403'000);
    const test::TrafficRun run = test::run_traffic(traffic);
    EXPECT_LE(run.flows.back().finished.ps, alone.ps * 115 / 100);
  }
}

// The share of a device's line that it uses if group i sends to group i + 1 only.
double adversarial_share(RoutingPolicy policy) {
  model::DragonflySpec spec{.devices_per_router = 2, .routers = 4, .global_links = 2, .groups = 9};
  spec.host = spec.local = spec.global = test::round_link();
  spec.latencies = {.forwarding = kSwitch, .endpoint = Time{0}};
  const model::Dragonfly topology(spec);
  PacketOptions options = with_credits();
  options.routing.policy = policy;
  constexpr std::int64_t bytes = 400'000;
  const TrafficModel traffic(topology, options,
                        {.pattern = TrafficPattern::shift, .message_bytes = bytes, .shift = 8}, 0);
  const test::TrafficRun run = test::run_traffic(traffic);
  EXPECT_EQ(run.totals.unfinished, 0u);
  return static_cast<double>(line_time(bytes).ps) /
         static_cast<double>(run.flows.back().finished.ps);
}

TEST(Contention, AdversarialDragonflyTrafficSaturatesOneGlobalLink) {
  // a p = 8 devices of a group share the one link to the next group: 1 / (a h) of their lines,
  // within 2 % for the way there.
  EXPECT_NEAR(adversarial_share(RoutingPolicy::deterministic), 1.0 / 8, 0.02 / 8);
  EXPECT_NEAR(adversarial_share(RoutingPolicy::adaptive), 1.0 / 8, 0.02 / 8);
}

TEST(Contention, ValiantRoutingCarriesNearlyHalfOfAdversarialTraffic) {
  // Each packet takes two global links of a h = 8 a group, so 1/2 at most; random waypoints leave
  // some links idle at times and the slowest device ends last, so from 0.35 up.
  const double valiant = adversarial_share(RoutingPolicy::valiant);
  EXPECT_GE(valiant, 0.35);
  EXPECT_LE(valiant, 0.5);
}

TEST(Contention, UgalTakesDetoursUnderAdversarialTraffic) {
  const double ugal = adversarial_share(RoutingPolicy::ugal);
  EXPECT_GE(ugal, 0.3);
}

TEST(Contention, PausesPropagateFromSwitchToSwitch) {
  // Device 1 on the first switch and 2 to 4 on the second send to device 0 on the first: its line
  // carries half of the link between the switches at most, so the first switch pauses the second,
  // which fills and pauses its devices.
  const auto topology = test::chain(2, 2, 3);
  const TrafficModel traffic(*topology, with_pauses(),
                        {.pattern = TrafficPattern::incast, .message_bytes = 100'000}, 0);
  const test::TrafficRun run = test::run_traffic(traffic);
  constexpr std::uint32_t second_switch = 5 + 1;
  EXPECT_GT(run.pauses[second_switch], 0u);
  for (const std::uint32_t device : {1u, 2u, 3u, 4u}) EXPECT_GT(run.pauses[device], 0u) << device;
  EXPECT_EQ(run.pauses[0], 0u);
  EXPECT_EQ(run.totals.drops, 0u);
  EXPECT_EQ(run.totals.unfinished, 0u);
  EXPECT_EQ(run.flows.back().finished, 2 * kHop + kSwitch + line_time(1'000 + 4 * 100'000));
}

}  // namespace
}  // namespace exawarp
