// Contention at packet fidelity against closed forms. Each test says how far a packet network may
// be from its formula and why; docs/laboratory/validation.md has the figures.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "model/topology/dragonfly.h"
#include "model/network/packet/routing.h"
#include "tests/golden/measured.h"
#include "tests/support/traffic_fixture.h"

namespace exawarp::tests {
namespace {

using core::Time;
using model::FlowControl;
using model::PacketOptions;
using model::TrafficModel;
using model::TrafficPattern;

std::vector<PacketOptions> every_flow_control() {
  return {tests::plain_packets(), tests::packets_with_credits(), tests::packets_with_pauses()};
}

double ratio(Time a, Time b) { return static_cast<double>(a.ps) / static_cast<double>(b.ps); }

// ---- one line

TEST(Contention, IncastTakesTheTimeOfAllBytesOnTheLastLine) {
  // The first packets come from the receiver's own leaf and keep its line busy from then on: exact.
  constexpr std::int64_t bytes = 30'000;
  for (const std::uint32_t n : {2u, 7u, 15u, 63u}) {
    const Time expected = 2 * kHop + kSwitch + line_time(1'000) + line_time(bytes) * n;
    for (const PacketOptions& options : every_flow_control()) {
      const auto topology = tests::leaf_spine(64, 8, 8);
      const TrafficModel traffic(
          *topology, options,
          {.pattern = TrafficPattern::incast, .message_bytes = bytes, .senders = n}, 0);
      const tests::TrafficRun run = tests::run_traffic(traffic);
      ASSERT_EQ(run.flows.size(), n);
      EXPECT_EQ(run.flows.back().finished, expected)
          << n << " senders, flow control " << static_cast<int>(options.flow_control);
      EXPECT_EQ(run.totals.drops, 0u);
    }
    print_measured(fmt::format("incast, {} to 1: last message, times one alone", n), n,
                   ratio(expected - 2 * kHop - kSwitch - line_time(1'000), line_time(bytes)));
  }
}

// Jain's index of fairness: 1 where all are equal, 1/n where one has all.
double jain(const std::vector<double>& shares) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  const double squares = std::inner_product(shares.begin(), shares.end(), shares.begin(), 0.0);
  return sum * sum / (static_cast<double>(shares.size()) * squares);
}

TEST(Contention, KFlowsOverOneLinkGetEqualShares) {
  // Equal messages that start together end within a packet of each other flow; where feedback
  // holds packets back, within the 8 packets that are sent or allowed at a time.
  for (const std::uint32_t k : {2u, 5u, 8u}) {
    for (const PacketOptions& options : every_flow_control()) {
      const auto topology = tests::chain(2, k, k);
      const TrafficModel traffic(*topology, options,
                                 {.pattern = TrafficPattern::pairs, .message_bytes = 1'000'000}, 0);
      const tests::TrafficRun run = tests::run_traffic(traffic);
      const Time first = run.flows.front().finished, last = run.flows.back().finished;
      const std::int64_t packets = options.flow_control == FlowControl::none ? 1 : 8;
      EXPECT_LE(last - first, line_time(1'000) * packets * (k - 1)) << k;
      EXPECT_EQ(last, 3 * kHop + 2 * kSwitch + line_time(2'000) + line_time(1'000'000) * k);
      print_measured(fmt::format("{} flows over one link, flow control {}: rate of the fastest", k,
                                 static_cast<int>(options.flow_control)),
                     1.0 / k, ratio(line_time(1'000'000), first));
    }
  }
}

TEST(Contention, FeedbackHalvesTheRatesOfTwoFlowsWhileBothLast) {
  // With credits or pauses a sender gives its line what the network takes: the bytes given by half
  // time are the flows' shares. Within the buffers, 40 packets of 2,000.
  for (const PacketOptions& options :
       {tests::packets_with_credits(), tests::packets_with_pauses()}) {
    const auto topology = tests::chain(2, 2, 2);
    const TrafficModel traffic(*topology, options,
                               {.pattern = TrafficPattern::pairs, .message_bytes = 4'000'000}, 0);
    const std::vector<double> sent = tests::snapshot_at(traffic, line_time(4'000'000)).sent_bytes;
    EXPECT_NEAR(sent[0], 2e6, 80e3);
    EXPECT_NEAR(sent[1], 2e6, 80e3);
    EXPECT_GE(jain({sent[0], sent[1]}), 0.9999);
  }
}

// ---- oversubscription

TEST(Contention, AnOversubscribedUpLinkTakesTheTimeOfAllItsBytes) {
  // 8 devices a leaf, one spine: each leaf's up-link carries 8 messages. All bytes in one row, from
  // when the first packet reaches the leaf; exact.
  for (const PacketOptions& options : every_flow_control()) {
    const auto topology = tests::leaf_spine(32, 8, 1);
    const TrafficModel traffic(
        *topology, options, {.pattern = TrafficPattern::shift, .message_bytes = 50'000, .shift = 8},
        0);
    const tests::TrafficRun run = tests::run_traffic(traffic);
    ASSERT_EQ(run.flows.size(), 32u);
    EXPECT_EQ(run.flows.back().finished,
              4 * kHop + 3 * kSwitch + line_time(1'000 + 8 * 50'000 + 2'000));
    EXPECT_EQ(run.totals.drops, 0u);
  }
}

// Messages of a permutation that leave or enter a leaf, of the leaf with most.
std::uint32_t busiest_leaf(const TrafficModel& traffic, std::uint32_t leaves, std::uint32_t below) {
  std::vector<std::uint32_t> out(leaves), in(leaves);
  for (std::uint32_t d = 0; d < leaves * below; ++d) {
    const std::uint32_t to = traffic.plan().destination({d}, 0).value;
    if (to / below == d / below) continue;
    ++out[d / below];
    ++in[to / below];
  }
  return std::max(*std::max_element(out.begin(), out.end()),
                  *std::max_element(in.begin(), in.end()));
}

TEST(Contention, APermutationOverAnOversubscribedLeafSpineIsBoundByItsBusiestLeaf) {
  // 16 devices a leaf, 4 spines. With x messages across the border of the busiest leaf the last one
  // ends x / 4 times as late as one alone, if all links to the spines carry the same. Queues are
  // compared before each packet's choice of a spine, but not further on: 4 %; a random choice
  // leaves the fullest link above the mean: 6 %.
  constexpr std::uint32_t kBelow = 16, kSpines = 4, kLeaves = 4;
  constexpr std::int64_t kBytes = 400'000;
  for (const auto& [policy, percent] :
       {std::pair{"adaptive", 4}, std::pair{"spray", 6}}) {
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      PacketOptions options = tests::plain_packets();
      options.routing.policy = policy;
      const auto topology = tests::leaf_spine(kLeaves * kBelow, kBelow, kSpines);
      const TrafficModel traffic(
          *topology, options,
          {.pattern = TrafficPattern::permutation, .message_bytes = kBytes, .seed = seed}, 0);
      const double expected = busiest_leaf(traffic, kLeaves, kBelow) / double{kSpines};
      const double measured =
          ratio(tests::run_traffic(traffic).flows.back().finished, line_time(kBytes));
      EXPECT_GE(measured, expected) << seed;
      EXPECT_LE(measured, expected * (100 + percent) / 100) << seed;
      print_measured(fmt::format("permutation, leaf-spine 4:1, {}, seed {}: times one alone",
                                 policy, seed),
                     expected, measured);
    }
  }
}

// ---- ECMP

// The greatest number of balls in a bin, of n balls in n bins at random: its expectation, by
// P(all <= m) = n! / n^n [x^n] (sum of x^j / j! up to m)^n.
double expected_fullest(std::uint32_t n) {
  double expected = 0;
  for (std::uint32_t m = 0; m < n; ++m) {
    std::vector<double> power(n + 1, 0.0);  // of the polynomial, times i! / n^i
    power[0] = 1;
    for (std::uint32_t bin = 0; bin < n; ++bin) {
      std::vector<double> next(n + 1, 0.0);
      for (std::uint32_t i = 0; i <= n; ++i) {
        double choose = 1;  // of i + j, j
        for (std::uint32_t j = 0; j <= m && i + j <= n; ++j) {
          next[i + j] += power[i] * choose * std::pow(1.0 / n, j);
          choose *= static_cast<double>(i + j + 1) / (j + 1);
        }
      }
      power = next;
    }
    expected += 1 - power[n];  // P(fullest > m)
  }
  return expected;
}

TEST(Contention, EcmpCollidesAsBallsInBins) {
  // n elephants of one leaf over n spines. A link with f of them serves each in f times the time
  // alone, exactly; so the slowest one follows the fullest bin, and the mean rate is the share of
  // bins that are not empty, 1 - (1 - 1/n)^n. Means over 200 seeds; four standard errors.
  constexpr std::uint32_t n = 16, seeds = 200;
  constexpr std::int64_t bytes = 20'000;
  double used = 0, slowest = 0, squares = 0;
  const auto topology = tests::leaf_spine(2 * n, n, n);
  const model::VertexId leaf = topology->vertex_of_switch(0);
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    PacketOptions options = tests::plain_packets();
    options.routing.seed = seed;
    const TrafficModel traffic(*topology, options,
                               {.pattern = TrafficPattern::pairs, .message_bytes = bytes}, 0);
    std::array<std::uint32_t, n> flows_of_spine{};
    for (std::uint32_t d = 0; d < n; ++d) {
      const std::uint64_t hash = model::flow_hash(seed, {{d}, {d + n}, 0});
      ++flows_of_spine[model::ecmp_port(topology->minimal(leaf, {d + n}), hash, leaf) - n];
    }
    const std::uint32_t fullest = *std::ranges::max_element(flows_of_spine);
    const tests::TrafficRun run = tests::run_traffic(traffic);
    EXPECT_EQ(run.totals.busiest_bytes, static_cast<std::uint64_t>(bytes) * fullest);
    EXPECT_EQ(run.flows.back().finished,
              4 * kHop + 3 * kSwitch + line_time(1'000 + bytes * fullest + 2'000));
    used += static_cast<double>(n - std::ranges::count(flows_of_spine, 0u)) / n;
    slowest += fullest;
    squares += fullest * fullest;
  }
  const double mean = slowest / seeds;
  const double error = std::sqrt((squares / seeds - mean * mean) / seeds);
  const double rate = 1 - std::pow(1 - 1.0 / n, n);
  EXPECT_NEAR(mean, expected_fullest(n), 4 * error);
  EXPECT_NEAR(used / seeds, rate, 4 * 0.07 / std::sqrt(seeds));
  print_measured("ECMP, 16 elephants on 16 spines: slowest, times one alone", expected_fullest(n),
                 mean);
  print_measured("the same: mean rate of a flow, of its line", rate, used / seeds);
}

TEST(Contention, ExpectedFullestBinByHand) {
  EXPECT_DOUBLE_EQ(expected_fullest(1), 1);
  EXPECT_DOUBLE_EQ(expected_fullest(2), 1.5);  // 2 of 4 outcomes collide
  EXPECT_NEAR(expected_fullest(3), (6 * 1 + 18 * 2 + 3 * 3) / 27.0, 1e-12);
}

TEST(Contention, SprayingAvoidsCollisions) {
  // The same flows, sprayed or placed by queue depth, finish in little more than one message's
  // time: random queues stay short against 400 packets.
  for (const char* policy : {"spray", "adaptive"}) {
    const auto topology = tests::leaf_spine(32, 16, 16);
    PacketOptions options = tests::plain_packets();
    options.routing.policy = policy;
    const TrafficModel traffic(*topology, options,
                               {.pattern = TrafficPattern::pairs, .message_bytes = 400'000}, 0);
    const Time alone = 4 * kHop + 3 * kSwitch + line_time(403'000);
    const tests::TrafficRun run = tests::run_traffic(traffic);
    EXPECT_LE(run.flows.back().finished.ps, alone.ps * 115 / 100);
    print_measured(fmt::format("16 flows on 16 spines by {}: slowest, times one alone",
                               policy),
                   1, ratio(run.flows.back().finished, alone));
  }
}

// ---- dragonfly

// The share of their lines that all devices use if group i sends to group i + 1 only, between
// 0.3 and 2.3 ms: queues are full by then, and nobody is done.
double adversarial_share(const char* policy) {
  model::DragonflySpec spec{.devices_per_router = 2, .routers = 4, .global_links = 2, .groups = 9};
  spec.host = spec.local = spec.global = tests::round_link();
  spec.latencies = {.forwarding = kSwitch, .endpoint = Time{0}};
  const model::Dragonfly topology(spec);
  PacketOptions options = tests::packets_with_credits();
  options.routing.policy = policy;
  const TrafficModel traffic(
      topology, options, {.pattern = TrafficPattern::shift, .message_bytes = 3'000'000, .shift = 8},
      0);
  const Time from{300'000'000}, to{2'300'000'000};
  double bytes = 0;
  const tests::Snapshot early = tests::snapshot_at(traffic, from);
  const tests::Snapshot late = tests::snapshot_at(traffic, to);
  for (std::uint32_t d = 0; d < topology.devices(); ++d) {
    bytes += late.sent_bytes[d] - early.sent_bytes[d];
  }
  return bytes * 1'000 / static_cast<double>((to - from).ps) / topology.devices();
}

TEST(Contention, AdversarialDragonflyTrafficSaturatesOneGlobalLink) {
  // a p = 8 devices of a group share the one link to the next group: 1 / (a h) of their lines.
  // Within 2 %: a buffer of 32 packets, of 2,000, may be fuller in the end than at the start.
  for (const char* policy : {"deterministic", "adaptive"}) {
    const double share = adversarial_share(policy);
    EXPECT_NEAR(share, 1.0 / 8, 0.02 / 8);
    print_measured("dragonfly p 2, a 4, h 2, g 9, group to next group, minimal", 1.0 / 8, share);
  }
}

TEST(Contention, ValiantRoutingCarriesNearlyHalfOfAdversarialTraffic) {
  // Each packet takes two of the a h links of a group, but never the direct one, as its waypoint
  // is in a third group: (g - 2) / (2 (g - 1)) = 7/16 of the lines at most, 1/2 in large networks.
  // Credits of 32 packets and random waypoints leave some links idle at times: down to 8 % less.
  constexpr double kBound = 7.0 / 16;
  const double valiant = adversarial_share("valiant");
  EXPECT_GE(valiant, 0.92 * kBound);
  EXPECT_LE(valiant, 1.005 * kBound);
  print_measured("the same, Valiant", kBound, valiant);
}

TEST(Contention, UgalTakesDetoursUnderAdversarialTraffic) {
  // The direct link is used as well: 7/16 + 1/8 at most. Down to a fifth less: the depths of its
  // own queues say little about those behind the next link (Kim et al., ISCA 2008).
  constexpr double kBound = 9.0 / 16;
  const double ugal = adversarial_share("ugal");
  EXPECT_GE(ugal, 0.8 * kBound);
  EXPECT_LE(ugal, 1.005 * kBound);
  print_measured("the same, UGAL", kBound, ugal);
}

// ---- pauses

TEST(Contention, PausesPropagateFromSwitchToSwitch) {
  // Device 1 on the first switch and 2 to 4 on the last send to device 0 on the first: its line
  // carries half of the links between the switches at most, so each switch pauses the one behind
  // it, and the last one its devices.
  constexpr std::uint32_t kSwitches = 4;
  const auto topology = tests::chain(kSwitches, 2, 3);
  const TrafficModel traffic(*topology, tests::packets_with_pauses(),
                             {.pattern = TrafficPattern::incast, .message_bytes = 200'000}, 0);
  const tests::TrafficRun run = tests::run_traffic(traffic);
  for (std::uint32_t s = 1; s < kSwitches; ++s) {
    const core::LpId lp = traffic.packet_network().lp_of(topology->vertex_of_switch(s));
    EXPECT_GT(run.pauses[lp.value], 0u) << "switch " << s;
  }
  for (const std::uint32_t device : {1u, 2u, 3u, 4u}) EXPECT_GT(run.pauses[device], 0u) << device;
  EXPECT_EQ(run.pauses[0], 0u);
  EXPECT_EQ(run.totals.drops, 0u);
  EXPECT_EQ(run.totals.unfinished, 0u);
  EXPECT_EQ(run.flows.back().finished, 2 * kHop + kSwitch + line_time(1'000 + 4 * 200'000));
}

// Devices 0 and 1 behind the first of four switches, 2 and 3 behind the last; 2 has a line of a
// quarter. 0 sends to 2, 1 to 3. The rate of the flow from 1 until it ends.
double rate_of_the_victim(const PacketOptions& options, tests::TrafficRun& run) {
  model::GraphSpec spec;
  spec.devices = 4;
  spec.switches = 4;
  spec.kinds = {tests::round_link(), tests::round_link(tests::kLineBytesPerS / 4)};
  spec.latencies = {.forwarding = kSwitch, .endpoint = Time{0}};
  spec.wires = {{{0}, {4}, 0}, {{1}, {4}, 0}, {{2}, {7}, 1}, {{3}, {7}, 0},
                {{4}, {5}, 0}, {{5}, {6}, 0}, {{6}, {7}, 0}};
  const model::Graph topology(spec, "slow device");
  constexpr std::int64_t bytes = 1'000'000;
  const TrafficModel traffic(topology, options,
                             {.pattern = TrafficPattern::pairs, .message_bytes = bytes}, 0);
  run = tests::run_traffic(traffic);
  for (const auto& flow : run.flows) {
    if (flow.source == 1) return ratio(line_time(bytes), flow.took);
  }
  return 0;
}

TEST(Contention, APauseHoldsUpFlowsThatDoNotCauseIt) {
  // Pauses stop a port, not a flow: over three hops the innocent flow gets no more than the one to
  // the slow device, 1/4 of the line, as both take turns in every queue. Within 3 %: what was under
  // way before the first pause. Without pauses it gets its half.
  tests::TrafficRun paused, unbounded;
  const double victim = rate_of_the_victim(tests::packets_with_pauses(), paused);
  EXPECT_NEAR(victim, 0.25, 0.03 * 0.25);
  for (const std::uint32_t port_of : {0u, 1u, 4u, 5u, 6u}) {
    EXPECT_GT(paused.pauses[port_of], 0u) << port_of;
  }
  EXPECT_EQ(paused.totals.drops, 0u);
  const double free = rate_of_the_victim(tests::plain_packets(), unbounded);
  EXPECT_NEAR(free, 0.5, 0.005);
  print_measured("victim of pauses three hops away: share of the line", 0.25, victim);
  print_measured("the same without pauses", 0.5, free);
}

}  // namespace
}  // namespace exawarp::tests
