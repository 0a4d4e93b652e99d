#include "io/cli/commands/traffic.h"

#include <fmt/format.h>

#include <array>
#include <ctime>
#include <memory>
#include <ostream>

#include "core/error.h"
#include "core/units.h"
#include "io/cli/time_limit.h"
#include "io/life/agreement.h"
#include "io/life/workers.h"
#include "io/report/port_counters_file.h"
#include "io/report/results.h"
#include "io/report/stats_file.h"
#include "io/report/traffic_report.h"
#include "io/study/in_file.h"
#include "io/study/suggest.h"
#include "partition/block.h"

namespace exawarp::io {
namespace {

struct Prepared {
  TrafficStudy study;
  std::unique_ptr<model::Topology> topology;
  std::unique_ptr<model::TrafficModel> traffic;
  core::Placement placement;
  pdes::EngineOptions engine;
  std::unique_ptr<core::OutputFile> counters;  // on rank 0, where asked for
};

constexpr std::uint32_t kAtomShift = 0;  // every device and switch may be placed for itself

Prepared load(const TrafficArguments& a, const TimeLimit& limit) {
  Prepared p;
  p.study = read_traffic_study(a.study_file, a.overrides);
  limit.check(a.study_file, "when the study was read");
  if (a.seed) p.study.seed = *a.seed;
  p.study.network.routing.seed = p.study.seed;
  p.study.traffic.seed = p.study.seed;
  p.study.network.count_ports = !a.counters.empty();
  p.topology = model::make_topology(p.study.fabric, p.study.devices);
  limit.check(a.study_file, "when the network was described");
  p.traffic = std::make_unique<model::TrafficModel>(*p.topology, p.study.network, p.study.traffic,
                                                    kAtomShift);
  limit.check(a.study_file, "when the messages were planned");
  return p;
}

void prepare(const TrafficArguments& a, const Workers& workers, const pdes::Transport& transport,
             Prepared& p) {
  p.placement = partition::place_in_blocks({.atoms = p.traffic->packet_network().lp_count(),
                                            .atom_shift = kAtomShift,
                                            .ranks = transport.ranks(),
                                            .partitions_per_rank = workers.partitions_per_rank});
  p.engine = {.sync = a.sync,
              .threads = workers.threads,
              .seed = p.study.seed,
              .window = a.window,
              .audit_probability = a.audit};
  if (!a.counters.empty() && transport.rank().value == 0) p.counters = open_table(a.counters);
}

double processor_time_s() {
  return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

void print_unfinished(const TrafficStudy& study, const model::TrafficTotals& totals,
                      const Console& console) {
  console.err << fmt::format(
                     "{}: the simulated network cannot go on: {} of {} messages were "
                     "received, and some wait for ever{}\n",
                     one_line(study.file), totals.received, totals.posted,
                     study.network.link_faults.empty() ? "" : "; faults left no way for them")
              << std::flush;
}

// Collective.
void check_time(const Prepared& p, const pdes::RunResult& result, pdes::Transport& transport) {
  agree(transport, [&] {
    if (!result.late || transport.rank().value != 0) return;
    const model::PacketNetwork& network = p.traffic->packet_network();
    throw core::InputError(
        p.study.file,
        fmt::format("simulated time passes {}: messages of {} are still under way at {}; expected "
                    "less to send, or faster links",
                    core::kEndOfTimeText,
                    core::format_bytes(static_cast<std::uint64_t>(p.study.traffic.message_bytes)),
                    vertex_name(*p.topology, network.vertex_of(result.late->destination))));
  });
}

}  // namespace

int run_traffic(const TrafficArguments& a, const Console& console, pdes::Transport& transport) {
  const TimeLimit limit(a.time_limit_s, console.started);
  Prepared p;
  agree(transport, [&] { p = in_file(a.study_file, [&] { return load(a, limit); }); });
  require_same(transport, p.study.settings);
  const Workers workers = choose_workers({.sync = a.sync,
                                          .threads = a.threads,
                                          .partitions_per_rank = a.partitions.value_or(0),
                                          .atoms = p.traffic->packet_network().lp_count()},
                                         console, transport);
  agree(transport, [&] { prepare(a, workers, transport, p); });
  p.engine.time_limit_s = limit.left_s();
  model::FlowTimes flows(p.placement.partitions());
  model::PortCounters counters(p.placement.partitions(), p.study.counters, &flows);
  pdes::Engine engine(*p.traffic, p.placement, p.engine, transport, &counters);
  const double before_s = processor_time_s();
  const pdes::RunResult result = engine.run();
  check_time(p, result, transport);
  const auto cpu_ns = static_cast<std::uint64_t>((processor_time_s() - before_s) * 1e9);
  model::TrafficOutcome outcome(*p.traffic);
  engine.visit([&](core::LpId lp, const void* state) { outcome.add(lp, state); });
  outcome.combine(transport);
  flows.combine(transport);
  const bool stopped = result.stopped_at_limit;
  std::array<std::uint64_t, 2> sums{peak_rss_bytes(), cpu_ns};
  transport.all_reduce_sum(sums);
  if (!a.counters.empty()) counters.combine(transport);
  agree(transport, [&] {
    if (transport.rank().value != 0) return;
    const TrafficReport report{.study = &p.study,
                               .topology = p.topology.get(),
                               .totals = &outcome.totals(),
                               .flows = &flows,
                               .result = &result,
                               .sync = a.sync,
                               .ranks = transport.ranks(),
                               .cpu_s = static_cast<double>(sums[1]) * 1e-9,
                               .peak_rss_bytes = sums[0]};
    const auto write = [&] {
      if (p.counters) write_port_counters(p.traffic->packet_network(), counters, *p.counters);
    };
    write_and_print(write, [&] {
      console.out << (a.json ? traffic_json(report) : printable(traffic_text(report)))
                  << std::flush;
    });
    if (stopped) {
      const std::string reached = "at simulated time " + core::format_time(result.last_event);
      console.err << limit.stopped_text(a.study_file, reached) << std::flush;
    } else if (outcome.totals().unfinished != 0) {
      print_unfinished(p.study, outcome.totals(), console);
    }
  });
  if (stopped) return kOutOfResources;
  return outcome.totals().unfinished == 0 ? kDone : kDeadlock;
}

}  // namespace exawarp::io
