// Skipping what has settled, on random networks with every flow control, transport and recovery:
// all messages arrive, with all of their packets, and every mode gives the sequential digest.
// EXAWARP_PROPERTY_CASES raises the number of cases; a failure prints the seed, which replays it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "tests/support/draws.h"
#include "tests/support/seeds.h"
#include "tests/support/topologies.h"
#include "tests/support/traffic_fixture.h"

namespace exawarp::tests {
namespace {

using model::FlowControl;
using model::PacketOptions;
using model::Recovery;
using model::TrafficOptions;
using model::TrafficPattern;

std::unique_ptr<model::Topology> random_topology(Draws& draw) {
  if (draw.chance(2)) return tests::leaf_spine(2 + draw.below(10), 1 + draw.below(4), 2);
  return tests::chain(1 + draw.below(3), 1 + draw.below(4), 1 + draw.below(4));
}

PacketOptions random_network(Draws& draw, const model::Topology& topology) {
  constexpr std::array<const char*, 3> routings{"deterministic", "destination", "ecmp"};
  PacketOptions o;
  o.trains = false;
  o.packet_bytes = 256 << draw.below(4);
  o.header_bytes = draw.below(2) * 58;
  o.cut_through = draw.chance(2);
  o.flow_control = static_cast<FlowControl>(draw.below(3));
  o.transport = tests::drawn_name(model::congestion_algorithms(), draw);
  o.commit_packets = draw.below(4);
  tests::set_least_rates(o, 100'000'000);
  o.ack_every = 1 + draw.below(8);
  const std::int64_t full = o.packet_bytes + o.header_bytes;
  o.ecn = {.kmin_bytes = 8 * full, .kmax_bytes = 24 * full};
  o.buffer_bytes = full * (8 + draw.below(40));
  o.xoff_bytes = full * (4 + draw.below(40));
  o.xon_bytes = o.xoff_bytes / 2;
  if (o.flow_control == FlowControl::none && draw.chance(2)) {
    o.recovery = draw.chance(2) ? Recovery::go_back_n : Recovery::selective_repeat;
  } else if (o.flow_control == FlowControl::none) {
    o.buffer_bytes = 0;
  }
  o.retransmit_timeout = core::Time{std::int64_t{20 + draw.below(80)} * 1'000'000};
  do {
    o.routing.policy = routings[draw.below(routings.size())];
  } while (!topology.every_port_is_safe() && !tests::keeps_to_first_port(o));
  o.routing.seed = draw.below(1'000);
  o.skip_error_per_million = draw.chance(2) ? 10'000 : 100'000;
  o.in_order = draw.chance(2);
  return o;
}

// Few messages, of up to four thousand packets, and some of a few.
TrafficOptions random_traffic(Draws& draw, std::uint32_t devices, std::int64_t packet_bytes) {
  std::vector<model::ListedFlow> flows;
  const std::uint32_t messages = 1 + draw.below(6);
  for (std::uint32_t m = 0; m < messages; ++m) {
    const std::uint32_t from = draw.below(devices);
    const std::uint32_t to = (from + 1 + draw.below(devices - 1)) % devices;
    const std::int64_t packets = draw.chance(4) ? draw.below(200) : 200 + draw.below(4'000);
    const core::Time start{draw.chance(2) ? 0 : std::int64_t{draw.below(2'000'000'000)}};
    flows.push_back({from, to, packets * packet_bytes + draw.below(200), start});
  }
  return {.pattern = TrafficPattern::flows,
          .one_by_one = draw.chance(4),
          .flows = std::make_shared<const model::FlowList>(std::move(flows))};
}

TEST(FastForwardProperty, AllOfEveryMessageArrivesInEveryModeAtTheSameTime) {
  const char* wanted = std::getenv("EXAWARP_PROPERTY_CASES");
  const std::uint64_t cases = wanted == nullptr ? 12 : std::strtoull(wanted, nullptr, 10);
  std::uint64_t skipped = 0, with_skips = 0, cut_short = 0, rolled_back = 0;
  for (const std::uint64_t seed : case_seeds(1, cases)) {
    Draws draw(seed, 0xfa57);
    const auto topology = random_topology(draw);
    if (topology->devices() < 2) continue;
    const PacketOptions network = random_network(draw, *topology);
    const TrafficOptions options = random_traffic(draw, topology->devices(), network.packet_bytes);
    SCOPED_TRACE(fmt::format("seed {}: {}, flow control {}, transport {}, recovery {}", seed,
                             topology->name(), static_cast<int>(network.flow_control),
                             network.transport, static_cast<int>(network.recovery)));
    const model::TrafficModel traffic(*topology, network, options, 0);
    const tests::TrafficRun expected = tests::run_traffic(traffic);
    ASSERT_EQ(expected.totals.received, traffic.messages());
    ASSERT_EQ(expected.totals.unfinished, 0u);
    const RunCase mode = drawn_case(draw, {core::Time{90'000'000}, 0.1, 500});
    const tests::TrafficRun result = tests::run_traffic(traffic, mode);
    ASSERT_EQ(result.digest, expected.digest) << mode.text();
    ASSERT_EQ(result.flows, expected.flows) << mode.text();
    if (network.recovery == Recovery::none && network.transport == "plain") {
      PacketOptions whole = network;
      whole.skip_error_per_million = 0;
      const model::TrafficModel simulated(*topology, whole, options, 0);
      const tests::TrafficRun all = tests::run_traffic(simulated);
      ASSERT_EQ(expected.totals.packets_sent, all.totals.packets_sent);
      ASSERT_EQ(expected.totals.packet_hops, all.totals.packet_hops);
      ASSERT_EQ(expected.totals.busiest_bytes, all.totals.busiest_bytes);
    }
    const model::SkipTotals& skips = expected.totals.skips;
    skipped += skips.skipped_packets;
    cut_short += skips.cut_short;
    with_skips += skips.stretches != 0 ? 1 : 0;
    rolled_back += result.statistics.rolled_back_events;
  }
  fmt::print("{} cases, {} with stretches: {} packets skipped, {} cut short\n", cases, with_skips,
             skipped, cut_short);
  EXPECT_GE(with_skips, cases / 3);
  EXPECT_GT(cut_short, 0u);
  EXPECT_GT(rolled_back, 0u);
}

}  // namespace
}  // namespace exawarp::tests
