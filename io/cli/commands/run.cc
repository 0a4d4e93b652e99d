#include "io/cli/commands/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>

#include "core/digest.h"
#include "core/error.h"
#include "core/output_file.h"
#include "io/cli/progress.h"
#include "io/cli/time_limit.h"
#include "io/life/agreement.h"
#include "io/life/workers.h"
#include "io/report/memory_report.h"
#include "io/report/port_counters_file.h"
#include "io/report/results.h"
#include "io/report/stats_file.h"
#include "io/report/text_summary.h"
#include "io/study/in_file.h"
#include "io/study/study_cluster.h"
#include "io/study/suggest.h"
#include "model/device/device.h"
#include "partition/block.h"
#include "partition/metis.h"
#include "partition/quality.h"
#include "partition/topology_aware.h"

namespace exawarp::io {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// All that stands between the command line and the first event, on one rank.
struct Prepared {
  Study study;
  LoadedJobs jobs;
  std::unique_ptr<model::Cluster> cluster;
  Workers workers;
  core::Placement placement;
  std::optional<partition::Quality> quality;  // none: there is one partition
  std::uint64_t events_expected = 0;
  std::string directory;
  bool made_directory = false;
  std::unique_ptr<core::OutputFile> stats, counters;  // on rank 0, where asked for
};

// What the command line says goes before what the study says.
Study study_of(const RunArguments& a) {
  Study study = read_study(a.study_file, a.overrides);
  if (a.sync) study.engine.sync = *a.sync;
  if (a.threads) study.threads = a.threads;
  if (a.seed) study.engine.seed = *a.seed;
  if (a.partitions) study.partitions_per_rank = *a.partitions;
  if (a.placement) study.placement = *a.placement;
  if (a.audit) study.engine.audit_probability = *a.audit;
  if (a.window) study.engine.window = *a.window;
  if (a.time_limit_s) study.engine.time_limit_s = *a.time_limit_s;
  if (!a.stats.path.empty()) study.engine.sample_interval_s = a.stats.interval_s;
  if (a.counters.empty()) return study;
  study.packets.count_ports = true;
  if (study.network_fidelity != NetworkFidelity::packet) {
    throw core::InputError("--counters", "only packets are counted by port; expected " +
                                             study.file + " with network.fidelity: packet");
  }
  return study;
}

partition::WeightedGraph weighted_graph_of(const model::Traffic& traffic) {
  std::vector<std::int64_t> weights(traffic.work.begin(), traffic.work.end());
  std::vector<partition::WeightedEdge> edges;
  edges.reserve(traffic.neighbour.size() / 2);
  for (std::uint32_t a = 0; a < weights.size(); ++a) {
    for (std::uint64_t e = traffic.first_edge[a]; e < traffic.first_edge[a + 1]; ++e) {
      const std::uint32_t b = traffic.neighbour[e];
      if (a < b) edges.push_back({a, b, static_cast<std::int64_t>(traffic.weight[e])});
    }
  }
  return {std::move(weights), std::move(edges)};
}

core::Placement place_by(PlacementMethod method, const partition::WeightedGraph& graph,
                         const partition::PlacementRequest& request) {
  switch (method) {
    case PlacementMethod::block: break;
    case PlacementMethod::topology_aware: return partition::place_by_topology(graph, request);
    case PlacementMethod::metis: return partition::place_by_metis(graph, request);
  }
  return partition::place_in_blocks(request);
}

// Sets the placement and, where there is a choice, how good it is.
void place(const model::Traffic& traffic, std::uint32_t ranks, Prepared& p) {
  const partition::PlacementRequest request{.atoms = p.cluster->atom_count(),
                                            .atom_shift = p.cluster->atom_shift(),
                                            .ranks = ranks,
                                            .partitions_per_rank =
                                                p.workers.partitions_per_rank};
  if (ranks == 1 && request.partitions_per_rank == 1) {
    p.placement = partition::place_in_blocks(request);
    return;
  }
  const partition::WeightedGraph graph = weighted_graph_of(traffic);
  p.placement = place_by(p.study.placement, graph, request);
  p.quality = partition::measure(graph, p.placement);
}

// Each rank places for itself, so all must come to the same. They do, but for a METIS of another
// build on another machine. Collective.
void check_same_placement(const core::Placement& placement, pdes::Transport& transport) {
  core::Hasher hash;
  for (const std::uint16_t partition : placement.partition_of_atom) hash.word(partition);
  std::array<std::uint64_t, 2> extremes{hash.value(), ~hash.value()};
  transport.all_reduce_max(extremes);
  agree(transport, [&] {
    if (extremes[0] == ~extremes[1]) return;
    throw core::SystemError(
        "placement: ranks disagree, so their METIS libraries differ; expected the same one on "
        "every machine, or placement.method: topology-aware");
  });
}

// Several partitions a thread let a thread take over what another has left, where the workload's
// phases load partitions unevenly; they pay only if little is cut, which at packet fidelity is
// never so (docs/reference/partitioning.md).
std::uint32_t partitions_per_thread(const Study& study) {
  const bool cuts_much = study.placement == PlacementMethod::block ||
                         study.network_fidelity == NetworkFidelity::packet;
  return cuts_much ? 1 : 4;
}

// What all ranks must have in common: the study, and what its workload files hold.
Settings settings_of(const Study& study) {
  Settings all = study.settings;
  for (const JobConfig& job : study.jobs) {
    const auto* path = std::get_if<std::string>(&job.workload);
    if (path != nullptr) all.push_back(content_of(*path, *path));
  }
  return all;
}

TimeLimit time_limit_of(const Study& study, const Console& console) {
  return {study.engine.time_limit_s, console.started};
}

Prepared load(const RunArguments& a, const Console& console) {
  Prepared p;
  p.study = study_of(a);
  const TimeLimit limit = time_limit_of(p.study, console);
  const auto done = [&](const char* step) { limit.check(p.study.file, step); };
  done("when the study was read");
  p.jobs = load_jobs(p.study);
  done("when the workload was there");
  if (!a.ignore_memory && !p.study.ignore_memory) {
    for (const auto& graph : p.jobs.graphs) {
      check_memory(*graph, p.study.system.accelerator, p.study.file);
    }
  }
  p.cluster = cluster_of(p.study, p.jobs);
  done("when the cluster was described");
  return p;
}

// Where its LPs go and where its results go.
void prepare(const RunArguments& a, const Console& console, const pdes::Transport& transport,
             Prepared& p) {
  const TimeLimit limit = time_limit_of(p.study, console);
  const model::Traffic traffic = p.cluster->traffic();
  for (const std::uint64_t work : traffic.work) p.events_expected += work;
  limit.check(p.study.file, "when it was known who talks to whom");
  place(traffic, transport.ranks(), p);
  limit.check(p.study.file, "when devices were placed");
  p.directory = a.out_directory.empty() ? "results/" + p.study.name : a.out_directory;
  if (transport.rank().value != 0) return;
  p.made_directory = !std::filesystem::exists(p.directory);
  prepare_directory(p.directory);
  if (!a.stats.path.empty()) p.stats = open_table(a.stats.path);
  if (!a.counters.empty()) p.counters = open_table(a.counters);
}

// All that comes before the first event. Collective.
Prepared prepared(const RunArguments& a, const Console& console, pdes::Transport& transport) {
  Prepared p;
  Settings settings;
  agree(transport, [&] {
    p = in_file(a.study_file, [&] { return load(a, console); });
    if (transport.ranks() > 1) settings = settings_of(p.study);
  });
  require_same(transport, settings);
  p.workers = choose_workers({.sync = p.study.engine.sync,
                              .threads = p.study.threads,
                              .partitions_per_rank = p.study.partitions_per_rank,
                              .partitions_per_thread = partitions_per_thread(p.study),
                              .atoms = p.cluster->atom_count()},
                             console, transport);
  p.study.engine.threads = p.workers.threads;
  agree(transport, [&] {
    in_file(a.study_file, [&] { prepare(a, console, transport, p); });
  });
  check_same_placement(p.placement, transport);
  return p;
}

// Whether links that failed are why: the first pair of devices without a way.
std::string cut_off_by_faults(const RunReport& r) {
  const model::MessageTrouble* trouble = r.cluster->devices().trouble.get();
  if (trouble == nullptr) return "";
  for (const model::WaitingDevice& device : r.outcome->waiting()) {
    const auto from = trouble->cut_off_from({device.device}, r.result->last_event);
    if (!from) continue;
    return fmt::format("; faults leave no way from device {} to device {}", from->value,
                       device.device);
  }
  return "";
}

// The line that a deadlock ends with, and below it who waits for what.
void print_deadlock(const RunReport& r, const Console& console) {
  const model::Outcome& outcome = *r.outcome;
  std::string text = fmt::format("{}: the simulated system deadlocked: {} of {} devices wait{}\n",
                                 r.study->file, outcome.unfinished(), outcome.devices(),
                                 cut_off_by_faults(r));
  for (const model::WaitingDevice& device : outcome.waiting()) text += "  " + device.text + "\n";
  if (outcome.unfinished() > outcome.waiting().size()) {
    text += fmt::format("  ... and {} more\n", outcome.unfinished() - outcome.waiting().size());
  }
  console.err << printable(text) << std::flush;
}

// Rank 0 only: writes the results and tells the user.
void publish(const RunReport& report, const RunArguments& a, const model::PortCounters& counters,
             const Prepared& p, const Console& console) {
  const std::string text = printable(text_summary(report)), json = summary_json(report);
  const auto write = [&] {
    core::OutputFiles summaries;
    summaries.add(report.directory + "/" + kSummaryFiles[0], text);
    summaries.add(report.directory + "/" + kSummaryFiles[1], json);
    summaries.commit();
    if (p.counters) write_port_counters(p.cluster->packet_network(), counters, *p.counters);
    if (p.stats) write_stats(report.result->series, *p.stats);
  };
  write_and_print(write, [&] {
    if (a.json) {
      console.out << json << std::flush;
    } else if (!a.quiet) {
      console.out << text << std::flush;
    }
  });
  if (report.status == RunStatus::deadlocked) print_deadlock(report, console);
  if (report.status == RunStatus::stopped) {
    const TimeLimit limit = time_limit_of(*report.study, console);
    console.err << limit.stopped_text(
                       report.study->file,
                       "at simulated time " + core::format_time(report.result->last_event))
                << std::flush;
  }
}

int exit_code_of(RunStatus status) {
  switch (status) {
    case RunStatus::finished: return kDone;
    case RunStatus::deadlocked: return kDeadlock;
    case RunStatus::stopped: return kOutOfResources;
  }
  return kInternalFault;
}

RunStatus status_of(const pdes::RunResult& result, const model::Outcome& outcome) {
  if (outcome.unfinished() == 0) return RunStatus::finished;
  return result.stopped_at_limit ? RunStatus::stopped : RunStatus::deadlocked;
}

// Throws core::InputError where simulated time has run out. Collective.
model::Outcome outcome_of(const Prepared& p, const model::Cluster& cluster,
                          const pdes::Engine& engine, const pdes::RunResult& result,
                          pdes::Transport& transport) {
  model::Outcome outcome(cluster, result.late ? &*result.late : nullptr);
  engine.visit([&](core::LpId lp, const void* state) { outcome.add(lp, state); });
  outcome.combine(transport);
  if (!result.late) return outcome;
  agree(transport, [&] {
    if (transport.rank().value != 0) return;
    std::error_code ignored;
    if (p.made_directory) std::filesystem::remove(p.directory, ignored);
    throw core::InputError(
        p.study.file,
        fmt::format("simulated time passes {}: {}; expected smaller amounts, or higher rates",
                    core::kEndOfTimeText, outcome.late_work()));
  });
  return outcome;
}

// How long each job takes with nothing else on the cluster, on the devices that it has beside the
// others; 0 where it does not end. Collective.
std::vector<core::Time> run_alone(const Prepared& p, const TimeLimit& limit,
                                  pdes::Transport& transport) {
  std::vector<core::Time> durations;
  pdes::EngineOptions options = p.study.engine;
  options.sample_interval_s = 0;
  for (std::uint32_t j = 0; j < p.jobs.jobs.size(); ++j) {
    const auto cluster = cluster_of(p.study, p.jobs, j);
    options.time_limit_s = limit.left_s();
    pdes::Engine engine(*cluster, p.placement, options, transport);
    const pdes::RunResult result = engine.run();
    const model::JobTotals job =
        outcome_of(p, *cluster, engine, result, transport).jobs().front();
    durations.push_back(job.finished ? job.duration : core::Time{0});
  }
  return durations;
}

}  // namespace

int run_study(const RunArguments& a, const Console& console, pdes::Transport& transport) {
  const Clock::time_point start = Clock::now();
  const bool first_rank = transport.rank().value == 0;
  const Prepared p = prepared(a, console, transport);
  const double prepared_s = seconds_since(start);
  model::PortCounters counters(p.placement.partitions(), p.study.counters, nullptr);
  const TimeLimit limit = time_limit_of(p.study, console);
  pdes::EngineOptions options = p.study.engine;
  options.time_limit_s = limit.left_s();
  pdes::Engine engine(*p.cluster, p.placement, options, transport, &counters);
  ProgressPrinter progress(console, p.events_expected);
  const bool show_progress = first_rank && !a.quiet;
  const pdes::RunResult result =
      engine.run(show_progress ? pdes::ProgressListener(std::ref(progress)) : nullptr);
  if (show_progress) progress.finish();

  const model::Outcome outcome = outcome_of(p, *p.cluster, engine, result, transport);
  std::vector<core::Time> alone;
  if (a.compare_alone && outcome.unfinished() == 0) alone = run_alone(p, limit, transport);
  std::array<std::uint64_t, 1> memory{peak_rss_bytes()};
  transport.all_reduce_sum(memory);

  const RunReport report{.study = &p.study,
                         .cluster = p.cluster.get(),
                         .outcome = &outcome,
                         .result = &result,
                         .alone = alone,
                         .quality = p.quality,
                         .status = status_of(result, outcome),
                         .ranks = transport.ranks(),
                         .threads = p.workers.threads,
                         .sync = p.study.engine.sync,
                         .setup_s = prepared_s + result.setup_s,
                         .peak_rss_bytes = memory[0],
                         .directory = p.directory};
  if (!a.counters.empty()) counters.combine(transport);
  agree(transport, [&] {
    if (first_rank) publish(report, a, counters, p, console);
  });
  return exit_code_of(report.status);
}

}  // namespace exawarp::io
