// Trains against single packets: random networks and traffic give the same to the picosecond and
// the byte. Equal rates, sizes and starts are drawn often, so that many things happen in one
// instant. EXAWARP_TRAINS_CASES: how many (default 60); a failure prints its seed, which repeats
// it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "model/network/packet/port_counters.h"
#include "pdes/transport.h"
#include "tests/support/draws.h"
#include "tests/support/seeds.h"
#include "tests/support/topologies.h"
#include "tests/support/traffic_fixture.h"

namespace exawarp::tests {
namespace {

using core::Time;
using model::PacketOptions;
using model::Topology;
using model::TrafficOptions;
using model::TrafficPattern;

using Made = std::unique_ptr<Topology>;

// Switches in a tree with some links more, devices anywhere; one link for each pair.
Made random_graph(Draws& draw) {
  constexpr std::array<std::int64_t, 4> rates{1'000'000'000, 2'000'000'000, 3'000'000'000,
                                              250'000'000};
  model::GraphSpec spec;
  spec.devices = draw.between(2, 12);
  spec.switches = draw.between(1, 6);
  const std::uint32_t kinds = draw.chance(2) ? 1 : 3;
  for (std::uint32_t k = 0; k < kinds; ++k) {
    model::LinkKind kind = tests::round_link(rates[k == 0 ? 0 : draw.below(4)]);
    if (k > 0 && draw.chance(2)) kind.latency = Time{1 + draw.below(3'000)};
    kind.name = fmt::format("kind {}", k);
    spec.kinds.push_back(kind);
  }
  spec.latencies = {.forwarding = draw.chance(3) ? Time{1} : tests::kSwitch,
                    .endpoint = Time{draw.chance(2) ? 0 : 70'000}};
  const auto kind = [&] { return static_cast<std::uint8_t>(draw.below(kinds)); };
  const std::uint32_t first = spec.devices;
  for (std::uint32_t d = 0; d < spec.devices; ++d) {
    spec.wires.push_back({{d}, {first + draw.below(spec.switches)}, kind()});
  }
  for (std::uint32_t s = 1; s < spec.switches; ++s) {
    spec.wires.push_back({{first + s}, {first + draw.below(s)}, kind()});
  }
  if (spec.switches > 3 && draw.chance(2)) {
    const auto joined = [&](std::uint32_t a, std::uint32_t b) {
      for (const auto& wire : spec.wires) {
        if (wire.a.value == a && wire.b.value == b) return true;
        if (wire.a.value == b && wire.b.value == a) return true;
      }
      return false;
    };
    const std::uint32_t a = first + draw.below(spec.switches);
    const std::uint32_t b = first + draw.below(spec.switches);
    if (a != b && !joined(a, b)) spec.wires.push_back({{a}, {b}, kind()});
  }
  return std::make_unique<model::Graph>(spec, "graph");
}

Made random_topology(Draws& draw) {
  if (draw.chance(2)) return random_graph(draw);
  if (draw.chance(3)) return tests::leaf_spine(draw.between(4, 24), draw.between(2, 6), 3);
  if (draw.chance(3)) return tests::chain(draw.between(1, 4), draw.between(1, 6), 2);
  const std::vector<tests::TopologyCase> cases = tests::topology_cases();
  for (;;) {
    Made topology = cases[draw.below(static_cast<std::uint32_t>(cases.size()))].make();
    if (topology->devices() >= 2) return topology;
  }
}

PacketOptions random_network(Draws& draw) {
  constexpr std::array<const char*, 3> routings{"deterministic", "destination", "ecmp"};
  PacketOptions o;
  o.packet_bytes = draw.chance(2) ? 1'000 : 256 << draw.below(4);
  o.header_bytes = draw.chance(3) ? 58 : 0;
  o.cut_through = draw.chance(2);
  o.commit_packets = draw.chance(2) ? 0 : draw.between(1, 12);
  o.routing.policy = routings[draw.below(3)];
  o.routing.seed = draw.below(1'000);
  o.in_order = draw.chance(3);
  if (o.routing.policy == "ecmp" && draw.chance(3)) o.parameters = {{"queue_pairs", 2}};
  return o;
}

// A few thousand packets at most.
TrafficOptions random_traffic(Draws& draw, std::uint32_t devices, std::int64_t packet_bytes) {
  TrafficOptions o;
  o.pattern = static_cast<TrafficPattern>(draw.below(8));
  const std::int64_t peers = o.pattern == TrafficPattern::all_to_all ? devices - 1 : 1;
  o.messages = draw.between(1, 4);
  const std::int64_t most = std::max<std::int64_t>(3'000 / (o.messages * devices * peers), 2);
  const auto packets = static_cast<std::int64_t>(draw.below(static_cast<std::uint32_t>(most))) + 1;
  o.message_bytes = packets * packet_bytes - (draw.chance(2) ? 0 : draw.below(250));
  o.concurrent = draw.between(1, 4);
  o.one_by_one = draw.chance(4);
  o.shift = draw.between(1, devices - 1);
  o.load = 0.3 + 0.1 * draw.below(7);
  o.hot_share = 0.4;
  o.start_spread = Time{draw.chance(2) ? 0 : std::int64_t{draw.below(5'000'000)}};
  o.seed = draw.below(1'000);
  return o;
}

// All that a run leaves but what counts its events.
struct Left {
  std::vector<model::FlowTimes::Flow> flows;
  std::vector<std::string> ports;  // the clock and counters of each
  std::uint64_t events = 0;
  std::string digest;
};

std::string text_of(const model::PortState& port) {
  return fmt::format("free {} bytes {} packets {} peak {}", port.free.ps, port.bytes, port.packets,
                     port.peak.ps);
}

Left run(const Topology& topology, PacketOptions network, const TrafficOptions& options,
         bool trains, const RunCase& mode = {}) {
  network.trains = trains;
  const model::TrafficModel traffic(topology, network, options, 0);
  const tests::TrafficRun run = tests::run_traffic(traffic, mode);
  EXPECT_EQ(run.totals.received, traffic.messages());
  EXPECT_EQ(run.totals.unfinished, 0u);
  std::vector<std::string> ports;
  for (const model::PortState& port : run.ports) ports.push_back(text_of(port));
  return {run.flows, ports, run.statistics.committed_events(), run.digest};
}

// What ports did over time, a line for each port and bucket.
std::string counters_of(const Topology& topology, PacketOptions network,
                        const TrafficOptions& options, bool trains) {
  network.trains = trains;
  network.count_ports = true;
  const model::TrafficModel traffic(topology, network, options, 0);
  const auto transport = pdes::make_single_transport();
  model::PortCounters counters(1, {.bucket = Time{100'000}, .buckets_max = 64}, nullptr);
  pdes::Engine engine(traffic, blocks_of(traffic.packet_network().lp_count(), 0)(1, 1), {},
                      *transport, &counters);
  engine.run();
  counters.combine(*transport);
  std::string text = fmt::format("width {}\n", counters.width().ps);
  for (const model::PortCounters::Row& row : counters.rows()) {
    const model::PortCounters::Bucket& b = row.bucket;
    text += fmt::format("{} {} {}: {} {} {} {}\n", row.lp.value, row.port, row.index, b.bytes,
                        b.busy_ps, b.queue_peak_ps, b.packets);
  }
  return text;
}

TEST(TrainsProperty, GiveWhatSinglePacketsGive) {
  const char* wanted = std::getenv("EXAWARP_TRAINS_CASES");
  const std::uint64_t cases = wanted == nullptr ? 60 : std::strtoull(wanted, nullptr, 10);
  std::uint64_t with_trains = 0, events = 0, events_of_packets = 0;
  for (const std::uint64_t seed : case_seeds(1, cases)) {
    Draws draw(seed, 0x7a1);
    const Made topology = random_topology(draw);
    const PacketOptions network = random_network(draw);
    const TrafficOptions options = random_traffic(draw, topology->devices(), network.packet_bytes);
    SCOPED_TRACE(fmt::format("seed {}: {}, routing {}, pattern {}", seed, topology->name(),
                             network.routing.policy, static_cast<int>(options.pattern)));
    PacketOptions asked = network;
    asked.trains = true;
    if (!model::PacketNetwork(*topology, asked, 0).trains()) continue;
    const Left packets = run(*topology, network, options, false);
    const Left trains = run(*topology, network, options, true);
    ASSERT_TRUE(trains.flows == packets.flows);
    ASSERT_TRUE(trains.ports == packets.ports);
    if (draw.chance(3)) {
      const RunCase mode = drawn_case(draw, {Time{9'000'000}, 0.2, 50});
      const Left other = run(*topology, network, options, true, mode);
      ASSERT_EQ(other.digest, trains.digest) << mode.text();
    }
    if (draw.chance(4)) {
      ASSERT_EQ(counters_of(*topology, network, options, true),
                counters_of(*topology, network, options, false));
    }
    ++with_trains;
    events += trains.events;
    events_of_packets += packets.events;
  }
  fmt::print("{} cases, {} with trains: {} events for {}\n", cases, with_trains, events,
             events_of_packets);
  EXPECT_GE(with_trains, cases / 2);
  EXPECT_LT(events, events_of_packets);
}

}  // namespace
}  // namespace exawarp::tests
