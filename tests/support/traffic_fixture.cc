// Builds the networks as explicit graphs or leaf and spine, and runs traffic on them by run_matrix.
#include "tests/support/traffic_fixture.h"

#include <algorithm>
#include <thread>

#include "pdes/transport_in_process.h"

namespace exawarp::tests {

model::LinkKind round_link(std::int64_t bytes_per_s) {
  return {.name = "link", .bandwidth_bytes_per_s = bytes_per_s, .latency = kHop};
}

std::unique_ptr<model::Topology> chain(std::uint32_t switches, std::uint32_t left,
                                       std::uint32_t right, std::int64_t bytes_per_s) {
  model::GraphSpec spec;
  spec.devices = left + right;
  spec.switches = switches;
  spec.kinds = {round_link(bytes_per_s)};
  spec.latencies = {.forwarding = kSwitch, .endpoint = core::Time{0}};
  const std::uint32_t first = spec.devices, last = first + switches - 1;
  for (std::uint32_t d = 0; d < spec.devices; ++d) {
    spec.wires.push_back({{d}, {d < left ? first : last}, 0});
  }
  for (std::uint32_t s = first; s < last; ++s) spec.wires.push_back({{s}, {s + 1}, 0});
  return std::make_unique<model::Graph>(spec, "chain");
}

std::unique_ptr<model::Topology> leaf_spine(std::uint32_t devices, std::uint32_t below,
                                            std::uint32_t spines) {
  model::ClosSpec spec;
  spec.devices_per_leaf = below;
  spec.spines_per_pod = spines;
  spec.host = spec.leaf_spine = spec.spine_core = round_link();
  spec.latencies = {.forwarding = kSwitch, .endpoint = core::Time{0}};
  return std::make_unique<model::Clos>(spec, devices);
}

model::PacketOptions plain_packets() {
  model::PacketOptions options;
  options.packet_bytes = 1'000;
  options.cut_through = false;
  options.routing.policy = "ecmp";
  options.trains = false;
  return options;
}

model::PacketOptions packets_with_credits() {
  model::PacketOptions options = plain_packets();
  options.flow_control = model::FlowControl::credit;
  options.buffer_bytes = 32'000;
  return options;
}

model::PacketOptions packets_with_pauses() {
  model::PacketOptions options = plain_packets();
  options.flow_control = model::FlowControl::pfc;
  options.xoff_bytes = 10'000;
  options.xon_bytes = 8'000;
  return options;
}

void set_least_rates(model::PacketOptions& options, std::int64_t bytes_per_s) {
  for (const model::CongestionAlgorithm& a : model::congestion_algorithms()) {
    for (const model::Parameter& p : a.parameters) {
      if (p.key != "least_rate") continue;
      options.parameters[model::parameter_key(a.name, p.key)] = bytes_per_s;
    }
  }
}

bool keeps_to_first_port(const model::PacketOptions& options) {
  return model::routing_algorithm(options.routing.policy).traits.keeps_to_first_port;
}

namespace {

// The ports of a vertex.
std::span<const model::PortState> ports_of(const model::TrafficModel& traffic, core::LpId lp,
                                           const void* state) {
  if (traffic.packet_network().is_device(lp)) {
    const auto& endpoint = static_cast<const model::TrafficDevice*>(state)->endpoint();
    return {model::EndpointParts<const model::EndpointState>(endpoint).ports, endpoint.ports};
  }
  if (traffic.packet_network().is_watch(lp)) return {};
  const auto& at = *static_cast<const model::PacketSwitchState*>(state);
  return {model::PortParts<const model::PacketSwitchState>(at).ports, at.ports};
}

struct RankRun {
  const model::TrafficModel& traffic;
  const RunCase& run;
  std::uint32_t atom_shift;

  TrafficRun operator()(pdes::Transport& transport) const {
    const pdes::EngineOptions options{.sync = run.sync,
                                      .threads = run.threads,
                                      .memory_budget_bytes = run.memory_budget_bytes,
                                      .window = run.window,
                                      .audit_probability = run.audit_probability,
                                      .rebuild_events = run.rebuild_events};
    const std::uint32_t lps = traffic.lp_count();
    model::FlowTimes times(run.ranks * run.partitions_per_rank);
    pdes::Engine engine(traffic, blocks_of(lps, atom_shift)(run.ranks, run.partitions_per_rank),
                        options, transport, &times);
    const pdes::RunResult result = engine.run();
    model::TrafficOutcome outcome(traffic);
    std::vector<std::uint64_t> pauses(lps);
    std::vector<model::PortState> ports;
    engine.visit([&](core::LpId lp, const void* state) {
      const std::uint64_t before = outcome.totals().pauses;
      outcome.add(lp, state);
      pauses[lp.value] = outcome.totals().pauses - before;
      for (const model::PortState& port : ports_of(traffic, lp, state)) ports.push_back(port);
    });
    outcome.combine(transport);
    times.combine(transport);
    return {to_hex(result.digest), outcome.totals(), times.flows(), pauses, ports,
            result.total};
  }
};

}  // namespace

TrafficRun run_traffic(const model::TrafficModel& traffic, const RunCase& run,
                       std::uint32_t atom_shift) {
  const RankRun on_rank{traffic, run, atom_shift};
  if (run.ranks == 1) {
    const auto transport = pdes::make_single_transport();
    return on_rank(*transport);
  }
  pdes::InProcessHub hub(run.ranks, run.chaos_seed);
  std::vector<TrafficRun> results(run.ranks);
  {
    std::vector<std::jthread> ranks;
    for (std::uint32_t r = 0; r < run.ranks; ++r) {
      ranks.emplace_back([&, r] {
        const auto transport = hub.endpoint({r});
        results[r] = on_rank(*transport);
      });
    }
  }
  return results[0];
}

Snapshot snapshot_at(const model::TrafficModel& traffic, core::Time end) {
  const auto transport = pdes::make_single_transport();
  const std::uint32_t lps = traffic.packet_network().lp_count();
  pdes::Engine engine(traffic, blocks_of(lps, 0)(1, 1),
                      {.sync = pdes::Sync::sequential, .end = end}, *transport);
  engine.run();
  Snapshot seen;
  seen.sent_bytes.resize(traffic.packet_network().topology().devices());
  model::TrafficOutcome outcome(traffic);
  engine.visit([&](core::LpId lp, const void* state) {
    outcome.add(lp, state);
    if (!traffic.packet_network().is_device(lp)) {
      const auto& at = *static_cast<const model::PacketSwitchState*>(state);
      const model::PortParts<const model::PacketSwitchState> parts(at);
      for (std::uint32_t p = 0; p < at.ports; ++p) {
        const model::PortState& port = parts.ports[p];
        seen.queue = std::max(seen.queue, port.free - end + port.waiting);
      }
      return;
    }
    const auto& endpoint = static_cast<const model::TrafficDevice*>(state)->endpoint();
    const model::EndpointParts<const model::EndpointState> parts(endpoint);
    seen.sent_bytes[lp.value] = static_cast<double>(parts.ports[0].bytes);
  });
  seen.marks = static_cast<double>(outcome.totals().marks);
  return seen;
}

}  // namespace exawarp::tests
