// Lossless networks under stress: random shapes and sizes of every family, credits or pauses, small
// buffers, every routing that is free of deadlock, some jitter, traffic that piles up. Nothing is
// dropped, and every message arrives, so no buffers wait for each other in a circle.
// EXAWARP_LOSSLESS_CASES: how many (default 16); a failure prints the seed, which replays it.
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
using model::LinkKind;
using model::PacketOptions;
using model::Topology;
using model::TrafficOptions;
using model::TrafficPattern;

class LinkDraws : public Draws {
 public:
  explicit LinkDraws(std::uint64_t seed) : Draws(seed, 0x1055) {}
  // Of 5 to 100 GB/s and 5 to 500 ns.
  LinkKind link(const char* name) {
    constexpr std::array<std::int64_t, 4> rates{5, 25, 50, 100}, latencies{5, 20, 100, 500};
    return tests::link_kind(name, rates[below(4)], latencies[below(4)]);
  }
};

using Made = std::unique_ptr<Topology>;

Made random_torus(LinkDraws& draw) {
  model::TorusSpec s{
      .wraps = !draw.chance(3), .link = draw.link("link"), .latencies = tests::kLatencies};
  const std::uint32_t dims = draw.between(1, 4), longest = dims == 1 ? 24 : dims == 2 ? 7 : 4;
  for (std::uint32_t i = 0; i < dims; ++i) s.dims.push_back(draw.between(2, longest));
  return std::make_unique<model::Torus>(s);
}

Made random_clos(LinkDraws& draw) {
  model::ClosSpec s{.devices_per_leaf = draw.between(1, 8),
                    .groups_per_pod = draw.chance(2) ? 0 : draw.between(1, 3),
                    .spines_per_pod = draw.between(1, 6)};
  s.host = draw.link("host");
  s.leaf_spine = draw.link("up");
  s.spine_core = draw.link("top");
  s.latencies = tests::kLatencies;
  s.leaf_bundle = draw.between(1, 2);
  if (draw.chance(4)) s.rails = 4;
  const std::uint32_t units = draw.between(2, s.rails == 1 ? 48 : 12);
  return std::make_unique<model::Clos>(s, units * s.rails);
}

Made random_dragonfly(LinkDraws& draw) {
  model::DragonflySpec s{.devices_per_router = draw.between(1, 3),
                         .routers = draw.between(2, 4),
                         .global_links = draw.between(1, 2)};
  const std::uint32_t slots = s.routers * s.global_links;
  do {
    s.groups = draw.between(2, slots + 1);
  } while (slots % (s.groups - 1) != 0);
  s.arrangement = draw.chance(2) ? model::GlobalLinks::absolute : model::GlobalLinks::relative;
  s.host = draw.link("host");
  s.local = draw.link("local");
  s.global = draw.link("global");
  s.latencies = tests::kLatencies;
  return std::make_unique<model::Dragonfly>(s);
}

Made random_hyperx(LinkDraws& draw) {
  model::HyperXSpec s{.hosts = draw.between(1, 3)};
  const std::uint32_t dims = draw.between(1, 3);
  for (std::uint32_t i = 0; i < dims; ++i) {
    s.dims.push_back(draw.between(2, 4));
    s.width.push_back(draw.between(1, 2));
  }
  s.host = draw.link("host");
  s.between = draw.link("between");
  s.latencies = tests::kLatencies;
  return std::make_unique<model::HyperX>(s);
}

Made random_topology(LinkDraws& draw) {
  switch (draw.below(6)) {
    case 0:
      return random_torus(draw);
    case 1:
      return random_clos(draw);
    case 2:
      return random_dragonfly(draw);
    case 3:
      return random_hyperx(draw);
    case 4:
      return std::make_unique<model::FullyConnected>(
          model::FullyConnectedSpec{draw.link("link"), tests::kLatencies}, draw.between(2, 12));
    default:
      break;
  }
  // Products, nodes on top of others, rails, explicit graphs: as they stand.
  const std::vector<tests::TopologyCase> cases = tests::topology_cases();
  for (;;) {
    Made topology = cases[draw.below(static_cast<std::uint32_t>(cases.size()))].make();
    if (topology->devices() >= 2) return topology;
  }
}

PacketOptions random_network(LinkDraws& draw, const Topology& topology) {
  PacketOptions o;
  o.packet_bytes = 256 << draw.below(5);
  o.header_bytes = draw.chance(2) ? 58 : 0;
  o.cut_through = draw.chance(2);
  o.commit_packets = draw.below(10);
  const std::int64_t full = o.packet_bytes + o.header_bytes;
  o.flow_control = draw.chance(2) ? FlowControl::credit : FlowControl::pfc;
  o.buffer_bytes = full * draw.between(4, 10);  // the least that credits may have, and little more
  o.xoff_bytes = full * draw.between(1, 6);
  o.xon_bytes = o.xoff_bytes * draw.between(0, 3) / 4;
  if (o.flow_control == FlowControl::pfc && draw.chance(3)) {
    o.transport = "dcqcn";
    o.ecn = {.kmin_bytes = full, .kmax_bytes = 4 * full, .pmax_per_mille = 500};
    tests::set_least_rates(o, 1'000'000'000);
  }
  do {
    o.routing.policy = tests::drawn_name(model::routing_algorithms(), draw);
  } while (!topology.every_port_is_safe() && !tests::keeps_to_first_port(o));
  o.routing.seed = draw.below(1'000);
  o.in_order = draw.chance(4);
  if (draw.chance(4)) o.latency_jitter.mean = core::Time{draw.between(1, 2'000) * 1'000};
  if (o.transport == "plain" && draw.chance(3)) {
    o.transport = "window";
    o.ack_every = draw.between(1, 16);
    if (draw.chance(3)) o.flow_control = FlowControl::none, o.buffer_bytes = 0;
  }
  return o;
}

TrafficOptions random_traffic(LinkDraws& draw, std::uint32_t devices) {
  constexpr std::array patterns{TrafficPattern::permutation, TrafficPattern::incast,
                                TrafficPattern::all_to_all, TrafficPattern::hotspot,
                                TrafficPattern::shift};
  TrafficOptions o;
  o.pattern = patterns[draw.below(patterns.size())];
  const std::uint32_t largest = o.pattern == TrafficPattern::all_to_all ? 6'000 : 80'000;
  o.message_bytes = draw.between(1, largest);
  o.messages = o.pattern == TrafficPattern::all_to_all ? 1 : draw.between(1, 3);
  o.concurrent = draw.between(1, 4);
  o.one_by_one = draw.chance(4);
  o.shift = draw.between(1, devices - 1);
  o.load = 1;
  o.hot_share = 0.4;
  o.start_spread = core::Time{draw.chance(2) ? 0 : 2'000'000};
  o.seed = draw.below(1'000);
  return o;
}

// Whether any packet ever waited for room.
bool stress_case(std::uint64_t seed) {
  LinkDraws draw(seed);
  const Made topology = random_topology(draw);
  const PacketOptions network = random_network(draw, *topology);
  const TrafficOptions options = random_traffic(draw, topology->devices());
  SCOPED_TRACE(fmt::format("seed {}: {}, flow control {}, routing {}, pattern {}", seed,
                           topology->name(), static_cast<int>(network.flow_control),
                           network.routing.policy,
                           static_cast<int>(options.pattern)));
  const model::TrafficModel traffic(*topology, network, options, 0);
  const tests::TrafficRun run = tests::run_traffic(traffic);
  EXPECT_EQ(run.totals.received, traffic.messages());
  EXPECT_EQ(run.totals.unfinished, 0u);
  EXPECT_EQ(run.totals.drops, 0u);
  EXPECT_EQ(run.totals.lost, 0u);
  return run.totals.pauses > 0;
}

TEST(LosslessProperty, NothingIsDroppedAndNothingStandsStill) {
  const char* wanted = std::getenv("EXAWARP_LOSSLESS_CASES");
  const std::uint64_t cases = wanted == nullptr ? 16 : std::strtoull(wanted, nullptr, 10);
  std::uint64_t pausing = 0;
  for (const std::uint64_t seed : case_seeds(1, cases)) pausing += stress_case(seed) ? 1 : 0;
  EXPECT_GE(pausing, cases / 8);  // of about half that have pauses at all
  fmt::print("{} cases, {} with pauses\n", cases, pausing);
}

}  // namespace
}  // namespace exawarp::tests
