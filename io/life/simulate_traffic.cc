// Synthetic traffic from its study to its report: the network and the messages that its devices
// send, the engine's run, completion times and totals of all ports.
#include <fmt/format.h>

#include <array>
#include <ctime>
#include <memory>

#include "core/error.h"
#include "core/units.h"
#include "io/formats/flows/flow_list.h"
#include "io/life/agreement.h"
#include "io/life/checkpointing.h"
#include "io/life/placing.h"
#include "io/life/prepared.h"
#include "io/life/simulate.h"
#include "io/study/in_file.h"

namespace exawarp::io {
namespace {

constexpr std::uint32_t kPartitionsPerThread = 4;  // docs/reference/partitioning.md
constexpr std::uint32_t kAtomShift = 0;  // every device and switch may be placed for itself

double processor_time_s() {
  return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

std::unique_ptr<TrafficStudy> with_options(const TrafficStudy& study,
                                                 const RunOptions& options) {
  auto out = std::make_unique<TrafficStudy>(study);
  if (options.seed) out->seed = *options.seed;
  out->network.routing.seed = out->seed;
  out->traffic.seed = out->seed;
  out->network.count_ports = options.count_ports;
  return out;
}

void load(const TimeLimit& limit, TrafficStudy& study, TrafficReport& report) {
  limit.check(study.file, "when the study was read");
  model::TrafficOptions& traffic = study.traffic;
  if (traffic.pattern == model::TrafficPattern::flows && !traffic.flows_file.empty()) {
    traffic.flows = std::make_shared<const model::FlowList>(
        read_flow_list(traffic.flows_file, study.devices));
    limit.check(study.file, "when the flows were read");
  }
  report.topology = model::make_topology(study.fabric, study.devices);
  limit.check(study.file, "when the network was described");
  report.traffic = std::make_unique<model::TrafficModel>(*report.topology, study.network,
                                                         study.traffic, kAtomShift,
                                                         study.fidelity);
  limit.check(study.file, "when the messages were planned");
}

std::string name_of(const TrafficReport& report, core::LpId lp) {
  const model::TrafficModel& traffic = *report.traffic;
  if (traffic.has_flows()) {
    return lp == traffic.flow_network().region() ? "the fabric" : fmt::format("d{}", lp.value);
  }
  if (traffic.packet_network().is_watch(lp)) return "the watch of steady flows";
  return vertex_name(*report.topology, traffic.packet_network().vertex_of(lp));
}

// Collective.
void check_time(const TrafficReport& report, pdes::Transport& transport) {
  agree(transport, [&] {
    if (!report.result.late || transport.rank().value != 0) return;
    throw core::InputError(
        report.study->file,
        fmt::format(
            "simulated time passes {}: messages of {}{} are still under way at {}; expected "
            "less to send, or faster links",
            core::kEndOfTimeText,
            core::format_bytes(static_cast<std::uint64_t>(report.traffic->plan().longest())),
            report.traffic->plan().is_listed() ? " at most" : "",
            name_of(report, report.result.late->destination)));
  });
}

core::Placement placement_of(const model::TrafficModel& traffic,
                             const partition::PlacementRequest& request) {
  if (request.ranks == 1 && request.partitions_per_rank == 1) {
    return partition::place_in_blocks(request);
  }
  return place_by(PlacementMethod::topology_aware, weighted_graph_of(traffic.graph()), request);
}

CheckpointFacts facts_of(const TrafficStudy& study) {
  const Settings all{{"study", study.resolved.hash}, {"seed", std::to_string(study.seed)}};
  Settings identity = all;
  const std::string& flows = study.traffic.flows_file;
  if (!flows.empty()) identity.push_back(content_of("traffic.flows", flows));
  return {.command = "traffic", .study = study.resolved.text, .arguments = all,
          .identity = identity};
}

std::vector<NamedSink> sinks_of(const TrafficReport& report, const RunOptions& options) {
  std::vector<NamedSink> sinks{{"completion times", report.flows.get()}};
  if (options.count_ports) sinks.push_back({"--counters", report.counters.get()});
  return sinks;
}

// The engine's run, and what its sinks got. Collective.
void run(const Prepared& p, const RunOptions& options, TrafficReport& report,
         pdes::Transport& transport) {
  report.flows = std::make_unique<model::FlowTimes>(p.placement.partitions());
  report.counters = std::make_unique<model::PortCounters>(
      p.placement.partitions(), report.study->counters, report.flows.get());
  pdes::Engine engine(*report.traffic, p.placement, p.engine, transport, report.counters.get());
  const double before_s = processor_time_s();
  Checkpointing checkpoints(options, facts_of(*report.study), sinks_of(report, options),
                            engine, transport);
  report.result = engine.run(options.progress, checkpoints.plan());
  checkpoints.describe(report);
  check_time(report, transport);
  std::array<std::uint64_t, 1> cpu_ns{
      static_cast<std::uint64_t>((processor_time_s() - before_s) * 1e9)};
  transport.all_reduce_sum(cpu_ns);
  report.cpu_s = static_cast<double>(cpu_ns[0]) * 1e-9;
  model::TrafficOutcome outcome(*report.traffic);
  engine.visit([&](core::LpId lp, const void* state) { outcome.add(lp, state); });
  outcome.combine(transport);
  report.totals = outcome.totals();
  report.flows->combine(transport);
  set_facts(report, p.engine, options.time_limit_s.value_or(0), transport);
  if (options.count_ports) {
    report.counters->combine(transport);
  } else {
    report.counters.reset();
  }
}

}  // namespace

TrafficReport simulate(const TrafficStudy& study, const RunOptions& options,
                       pdes::Transport& transport) {
  TrafficReport report;
  std::unique_ptr<TrafficStudy> own = with_options(study, options);
  TrafficStudy& loaded = *own;
  report.study = std::move(own);
  const TimeLimit limit(options.time_limit_s.value_or(0), options.started);
  agree(transport, [&] { in_file(study.file, [&] { load(limit, loaded, report); }); });
  Settings settings = study.settings;
  const std::string& flows = study.traffic.flows_file;
  if (!flows.empty()) settings.push_back(content_of(flows, flows));
  require_same(transport, settings);
  const Placeable what{.atoms = report.traffic->lp_count(),
                       .partitions_per_thread = kPartitionsPerThread,
                       // All packets of an incast wait for one line.
                       .threads_pay =
                           study.traffic.pattern != model::TrafficPattern::incast,
                       .place = [&](const partition::PlacementRequest& request) {
                         static_assert(kAtomShift == 0);  // as the request has it
                         return Placed{placement_of(*report.traffic, request)};
                       }};
  Prepared p = prepare(what, with_options(pdes::EngineOptions{.seed = report.study->seed}, options),
                       options.partitions.value_or(0), options, transport);
  p.engine.time_limit_s = limit.left_s();
  run(p, options, report, transport);
  const bool all_received = report.totals.unfinished == 0;
  report.status = report.result.stopped ? RunStatus::stopped
                  : all_received                 ? RunStatus::finished
                                                 : RunStatus::deadlocked;
  return report;
}

}  // namespace exawarp::io
