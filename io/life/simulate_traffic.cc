// Synthetic traffic from its study to its report: the network and the messages that its devices
// send, the engine's run, completion times and totals of all ports.
#include <fmt/format.h>

#include <array>
#include <ctime>
#include <memory>

#include "core/error.h"
#include "core/units.h"
#include "io/life/agreement.h"
#include "io/life/checkpointing.h"
#include "io/life/prepared.h"
#include "io/life/simulate.h"
#include "io/study/in_file.h"

namespace exawarp::io {
namespace {

constexpr std::uint32_t kAtomShift = 0;  // every device and switch may be placed for itself

double processor_time_s() {
  return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

std::unique_ptr<const TrafficStudy> with_options(const TrafficStudy& study,
                                                 const RunOptions& options) {
  auto out = std::make_unique<TrafficStudy>(study);
  if (options.seed) out->seed = *options.seed;
  out->network.routing.seed = out->seed;
  out->traffic.seed = out->seed;
  out->network.count_ports = options.count_ports;
  return out;
}

void load(const TimeLimit& limit, TrafficReport& report) {
  const TrafficStudy& study = *report.study;
  limit.check(study.file, "when the study was read");
  report.topology = model::make_topology(study.fabric, study.devices);
  limit.check(study.file, "when the network was described");
  report.traffic = std::make_unique<model::TrafficModel>(*report.topology, study.network,
                                                         study.traffic, kAtomShift);
  limit.check(study.file, "when the messages were planned");
}

// Collective.
void check_time(const TrafficReport& report, pdes::Transport& transport) {
  agree(transport, [&] {
    if (!report.result.late || transport.rank().value != 0) return;
    const model::PacketNetwork& network = report.traffic->packet_network();
    throw core::InputError(
        report.study->file,
        fmt::format(
            "simulated time passes {}: messages of {} are still under way at {}; expected "
            "less to send, or faster links",
            core::kEndOfTimeText,
            core::format_bytes(static_cast<std::uint64_t>(report.study->traffic.message_bytes)),
            vertex_name(*report.topology, network.vertex_of(report.result.late->destination))));
  });
}

CheckpointFacts facts_of(const TrafficStudy& study) {
  const Settings all{{"study", study.resolved.hash}, {"seed", std::to_string(study.seed)}};
  return {.command = "traffic", .study = study.resolved.text, .arguments = all, .identity = all};
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
  report.study = with_options(study, options);
  const TimeLimit limit(options.time_limit_s.value_or(0), options.started);
  agree(transport, [&] { in_file(study.file, [&] { load(limit, report); }); });
  require_same(transport, study.settings);
  const Placeable what{.atoms = report.traffic->packet_network().lp_count(),
                       .place = [](const partition::PlacementRequest& request) {
                         static_assert(kAtomShift == 0);  // as the request has it
                         return Placed{partition::place_in_blocks(request)};
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
