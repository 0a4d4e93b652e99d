// Random traffic over every family of topology, with every flow control, transport and routing:
// all messages arrive, nothing is lost where nothing may be, no buffers deadlock, and every mode
// gives the sequential digest.
// EXAWARP_PROPERTY_CASES raises the number of cases; a failure prints the seed, which replays it.
#include <gtest/gtest.h>

#include <algorithm>
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

constexpr DrawnCases kPacketCases{core::Time{9'000'000}, 0.2, 50};
constexpr std::uint64_t kPacketDraws = 0x9ac4e7;

PacketOptions random_network(Draws& draw, const model::Topology& topology) {
  PacketOptions o;
  o.packet_bytes = 256 << draw.below(4);
  o.header_bytes = static_cast<std::int64_t>(draw.below(2)) * 58;
  o.cut_through = draw.chance(2);
  o.flow_control = static_cast<FlowControl>(draw.below(3));
  o.transport = tests::drawn_name(model::congestion_algorithms(), draw);
  o.commit_packets = draw.below(4);
  tests::set_least_rates(o, 1'000'000'000);
  o.ack_every = 1 + draw.below(8);
  o.ecn = {.kmin_bytes = 4 * o.packet_bytes, .kmax_bytes = 12 * o.packet_bytes};
  const std::int64_t full = o.packet_bytes + o.header_bytes;
  o.buffer_bytes = full * static_cast<std::int64_t>(4 + draw.below(12));
  o.xoff_bytes = full * static_cast<std::int64_t>(1 + draw.below(8));
  o.xon_bytes = o.xoff_bytes / 2;
  if (o.flow_control == FlowControl::none) {
    o.recovery = draw.chance(2) ? Recovery::go_back_n : Recovery::selective_repeat;
  }
  o.retransmit_timeout = core::Time{static_cast<std::int64_t>(20 + draw.below(80)) * 1'000'000};
  do {
    o.routing.policy = tests::drawn_name(model::routing_algorithms(), draw);
  } while (!topology.every_port_is_safe() && !tests::keeps_to_first_port(o));
  o.routing.seed = draw.below(1'000);
  o.in_order = draw.chance(3);
  return o;
}

// At most two thousand packets, so that no case takes as long as all others.
TrafficOptions random_traffic(Draws& draw, std::uint32_t devices, std::int64_t packet_bytes) {
  constexpr std::int64_t kPackets = 2'000;
  TrafficOptions o;
  o.pattern = static_cast<TrafficPattern>(draw.below(8));
  o.message_bytes = static_cast<std::int64_t>(draw.below(60'000));
  o.messages = 1 + draw.below(4);
  o.concurrent = 1 + draw.below(4);
  o.one_by_one = draw.chance(4);
  if (o.pattern == TrafficPattern::all_to_all && devices > 24) o.message_bytes %= 4'000;
  o.shift = 1 + draw.below(devices - 1);
  o.load = 0.3 + 0.1 * static_cast<double>(draw.below(7));
  o.start_spread = core::Time{static_cast<std::int64_t>(draw.below(2) * 1'000'000)};
  o.seed = draw.below(1'000);
  const std::int64_t peers = o.pattern == TrafficPattern::all_to_all ? devices - 1 : 1;
  const std::int64_t messages = o.messages * devices * peers;
  o.message_bytes = std::min(o.message_bytes, kPackets * packet_bytes / messages);
  return o;
}

TEST(PacketProperty, EveryMessageArrivesInEveryModeAtTheSameTime) {
  const char* wanted = std::getenv("EXAWARP_PROPERTY_CASES");
  const std::uint64_t cases = wanted == nullptr ? 25 : std::strtoull(wanted, nullptr, 10);
  const std::vector<tests::TopologyCase> topologies = tests::topology_cases();
  std::uint64_t rolled_back = 0;
  for (const std::uint64_t seed : case_seeds(1, cases)) {
    Draws draw(seed, kPacketDraws);
    const tests::TopologyCase& shape = topologies[draw.below(topologies.size())];
    const auto topology = shape.make();
    if (topology->devices() < 2) continue;
    const PacketOptions network = random_network(draw, *topology);
    const TrafficOptions options = random_traffic(draw, topology->devices(), network.packet_bytes);
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + shape.name + " flow control " +
                 std::to_string(static_cast<int>(network.flow_control)) + " transport " +
                 network.transport + " routing " + network.routing.policy + " pattern " +
                 std::to_string(static_cast<int>(options.pattern)));
    const model::TrafficModel traffic(*topology, network, options, 0);
    const tests::TrafficRun expected = tests::run_traffic(traffic);
    ASSERT_EQ(expected.totals.received, traffic.messages());
    ASSERT_EQ(expected.totals.unfinished, 0u);
    ASSERT_EQ(expected.totals.lost, 0u);
    if (network.flow_control != FlowControl::none) {
      ASSERT_EQ(expected.totals.drops, 0u);
    }
    const tests::RunCase run = drawn_case(draw, kPacketCases);
    const tests::TrafficRun result = tests::run_traffic(traffic, run);
    ASSERT_EQ(result.digest, expected.digest) << run.text();
    ASSERT_EQ(result.flows, expected.flows) << run.text();
    rolled_back += result.statistics.rolled_back_events;
  }
  EXPECT_GT(rolled_back, 0u);
}

// Links whose failure leaves all devices a way to each other, whatever else fails: one in eight, or
// one at least where there is any. For the whole run, or at times.
std::vector<model::LinkFaultSpec> random_failures(Draws& draw, const model::Topology& topology,
                                                  const PacketOptions& network) {
  std::vector<model::LinkFaultSpec> failures;
  const bool at_times = draw.chance(2);
  const std::uint32_t vertices = topology.devices() + topology.switches();
  for (std::uint32_t tried = 0; tried < 1 + vertices / 4; ++tried) {
    const model::VertexId v{draw.below(vertices)};
    if (topology.ports(v) == 0) continue;
    const bool is_device = topology.is_device(v);
    model::LinkFaultSpec down{.place = "test"};
    down.links = {{.at = {is_device, is_device ? v.value : v.value - topology.devices()},
                   .port = static_cast<std::uint32_t>(draw.below(topology.ports(v)))}};
    failures.push_back(down);
    if (!tests::devices_are_connected(topology, {topology, failures})) failures.pop_back();
  }
  for (model::LinkFaultSpec& down : failures) {
    if (!at_times) break;
    down.from = core::Time{static_cast<std::int64_t>(draw.below(20) * 1'000'000)};
    const bool for_ever = network.recovery != Recovery::none && draw.chance(2);
    if (!for_ever) {
      down.until = down.from + core::Time{static_cast<std::int64_t>(1 + draw.below(20'000'000))};
    }
  }
  return failures;
}

// Whatever fails, as long as the links that never do join all devices: everyone gets everything,
// and no buffers deadlock on the ways around.
TEST(PacketProperty, EveryMessageArrivesAroundLinksThatAreDown) {
  const char* wanted = std::getenv("EXAWARP_PROPERTY_CASES");
  const std::uint64_t cases = wanted == nullptr ? 16 : std::strtoull(wanted, nullptr, 10);
  const std::vector<tests::TopologyCase> topologies = tests::topology_cases();
  std::uint64_t with_failures = 0;
  for (const std::uint64_t seed : case_seeds(1, cases)) {
    Draws draw(seed + 77'000, kPacketDraws);
    const tests::TopologyCase& shape = topologies[draw.below(topologies.size())];
    const auto topology = shape.make();
    if (topology->devices() < 2) continue;
    PacketOptions network = random_network(draw, *topology);
    network.link_faults = random_failures(draw, *topology, network);
    const TrafficOptions options = random_traffic(draw, topology->devices(), network.packet_bytes);
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + shape.name + " flow control " +
                 std::to_string(static_cast<int>(network.flow_control)) + " failures " +
                 std::to_string(network.link_faults.size()));
    const model::TrafficModel traffic(*topology, network, options, 0);
    const tests::TrafficRun expected = tests::run_traffic(traffic);
    ASSERT_EQ(expected.totals.received, traffic.messages());
    ASSERT_EQ(expected.totals.unfinished, 0u);
    ASSERT_EQ(tests::run_traffic(traffic, drawn_case(draw, kPacketCases)).digest, expected.digest);
    with_failures += network.link_faults.empty() ? 0 : 1;
  }
  EXPECT_GT(with_failures, cases / 4);
}

}  // namespace
}  // namespace exawarp::tests
