// A study from its files to its report: jobs and cluster, where each LP goes, the engine's run,
// what the devices' final states add up to, and, where it is asked for, each job by itself.
#include "io/life/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>
#include <utility>

#include "core/check.h"
#include "core/digest.h"
#include "core/error.h"
#include "io/life/agreement.h"
#include "io/life/checkpointing.h"
#include "io/life/placing.h"
#include "io/life/prepared.h"
#include "io/life/served_jobs.h"
#include "io/life/study_run.h"
#include "io/report/memory_report.h"
#include "io/report/served_report.h"
#include "io/study/in_file.h"
#include "model/device/device.h"
#include "model/generate/transformer.h"
#include "model/work_done.h"
#include "partition/quality.h"

namespace exawarp::io {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// About.
std::uint64_t events_expected(const model::Traffic& traffic) {
  return std::accumulate(traffic.work.begin(), traffic.work.end(), std::uint64_t{0});
}

// Sets how good the placement is, where there is a choice.
Placed place(partition::PlacementRequest request, const model::Traffic& traffic,
             const TimeLimit& limit, RunReport& report) {
  Placed out{.placement = {}, .events_expected = events_expected(traffic)};
  const std::string& file = report.study->file;
  request.atom_shift = report.cluster->atom_shift();
  if (request.ranks == 1 && request.partitions_per_rank == 1) {
    out.placement = partition::place_in_blocks(request);
  } else {
    const partition::WeightedGraph graph = weighted_graph_of(traffic);
    out.placement = place_by(report.study->placement, graph, request);
    report.quality = partition::measure(graph, out.placement);
  }
  limit.check(file, "when devices were placed");
  return out;
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
// phases load partitions unevenly; they pay only if little is cut, and more of them where what is
// cut is certain, as packets mostly are (docs/reference/partitioning.md).
std::uint32_t partitions_per_thread(const Study& study) {
  if (study.placement == PlacementMethod::block) return 1;
  return study.network_fidelity == NetworkFidelity::packet ? 4 : 2;
}

bool is_microbenchmark(const JobConfig& job) {
  const auto* generated = std::get_if<WorkloadSpec>(&job.workload);
  return generated != nullptr && std::holds_alternative<model::MicrobenchmarkSpec>(*generated);
}

// From so many stand-ins on there is work for two threads between their messages.
constexpr std::uint32_t kStandInsThatShare = 512;
// Fewer take some milliseconds, of which a second thread's start is a part. Of packets there are
// more than is foreseen, which is messages.
constexpr std::uint64_t kEventsThatShare = 100'000;

// A router waits for every replica, what trains leave of packets are few events that wait for each
// other, unless all devices send at once, and where devices are folded few are left, most often.
bool threads_pay(const Study& study, const model::Cluster& cluster, std::uint64_t events) {
  const bool is_foreseen = study.network_fidelity == NetworkFidelity::analytical ||
                           study.network_fidelity == NetworkFidelity::message;
  if (is_foreseen && events < kEventsThatShare) return false;
  const auto serves = [](const JobConfig& job) { return job.serving != nullptr; };
  if (std::ranges::any_of(study.jobs, serves)) return false;
  if (cluster.devices().fold != nullptr) {
    return !cluster.folds_exactly() && cluster.device_lps() >= kStandInsThatShare;
  }
  return study.network_fidelity != NetworkFidelity::packet ||
         !cluster.packet_network().trains() || std::ranges::all_of(study.jobs, is_microbenchmark);
}

// What all ranks must have in common: the study, and what its workload files hold.
Settings settings_of(const Study& study) {
  Settings all = study.settings;
  for (const JobConfig& job : study.jobs) {
    const std::string* path = job.workload_file();
    if (path != nullptr) all.push_back(content_of(*path, *path));
    const std::string requests = request_file_of(job);
    if (!requests.empty()) all.push_back(content_of(requests, requests));
  }
  return all;
}

// Before anything is generated: most layouts that a search tries end here.
void check_generated_memory(const Study& study) {
  for (const JobConfig& job : study.jobs) {
    const auto* generated = std::get_if<WorkloadSpec>(&job.workload);
    if (generated == nullptr) continue;
    const auto* transformer = std::get_if<model::TransformerSpec>(generated);
    if (transformer != nullptr) {
      check_memory(*transformer, study.system.accelerator, study.file);
    }
  }
}

void load(const TimeLimit& limit, RunReport& report) {
  const Study& study = *report.study;
  const auto done = [&](const char* step) { limit.check(study.file, step); };
  done("when the study was read");
  if (!study.ignore_memory) check_generated_memory(study);
  LoadedJobs jobs = load_jobs(study);
  add_requests(study, jobs);
  report.jobs = std::make_unique<const LoadedJobs>(std::move(jobs));
  done("when the workload was there");
  if (!study.ignore_memory) {
    for (const auto& graph : report.jobs->graphs) {
      check_memory(*graph, study.system.accelerator, study.file);
    }
  }
  report.cluster = cluster_of(study, *report.jobs);
  report.changed = changed_clusters_of(study, *report.jobs, *report.cluster);
  done("when the cluster was described");
}

// All that comes before the first event. Collective.
Prepared prepared(const RunOptions& options, const TimeLimit& limit, RunReport& report,
                  pdes::Transport& transport) {
  const Study& study = *report.study;
  Settings settings;
  model::Traffic traffic;
  agree(transport, [&] {
    in_file(study.file, [&] {
      load(limit, report);
      traffic = report.cluster->traffic();
    });
    limit.check(study.file, "when it was known who talks to whom");
    if (transport.ranks() > 1) settings = settings_of(study);
  });
  require_same(transport, settings);
  RunOptions with_study = options;
  if (!options.threads) with_study.threads = study.threads;
  const Placeable what{
      .atoms = report.cluster->atom_count(),
      .partitions_per_thread = partitions_per_thread(study),
      .threads_pay = threads_pay(study, *report.cluster, events_expected(traffic)),
      .place =
          [&](const partition::PlacementRequest& request) {
            return in_file(study.file, [&] { return place(request, traffic, limit, report); });
          }};
  Prepared out = prepare(what, study.engine,
                         options.partitions.value_or(study.partitions_per_rank), with_study,
                         transport);
  check_same_placement(out.placement, transport);
  return out;
}

// What a checkpoint of the study says of it. What the engine or the placement is told may change
// with a restart, so then the study is the one that was written first.
CheckpointFacts facts_of(const Study& study, const RunOptions& options) {
  const Checkpoint* const restart = options.restart;
  const bool first = restart == nullptr || options.forks;
  CheckpointFacts facts{
      .command = "run",
      .study = first ? study.resolved.text : restart->facts().study,
      .arguments = {{"study", first ? study.resolved.hash : restart->argument("study")}},
      .identity = {}};
  facts.identity = facts.arguments;
  for (const JobConfig& job : study.jobs) {
    const std::string* path = job.workload_file();
    if (path != nullptr) facts.identity.push_back(content_of(job.name, *path));
    const std::string requests = request_file_of(job);
    if (!requests.empty()) facts.identity.push_back(content_of(job.name, requests));
  }
  return facts;
}

std::vector<NamedSink> sinks_of(const RunReport& report, const RunOptions& options) {
  std::vector<NamedSink> sinks;
  if (options.count_ports) sinks.push_back({"--counters", report.counters.get()});
  if (!report.cluster->served().empty()) sinks.push_back({"serving", report.requests.get()});
  if (report.messages != nullptr) sinks.push_back({"--messages", report.messages.get()});
  if (report.power != nullptr) sinks.push_back({"--power", report.power.get()});
  if (report.timeline != nullptr) {
    sinks.push_back({options.timeline ? "--timeline" : "--critical-path", report.timeline.get()});
  }
  return sinks;
}

RunStatus status_of(const pdes::RunResult& result, const model::Outcome& outcome,
                    std::uint64_t unanswered) {
  if (outcome.unfinished() == 0 && unanswered == 0) return RunStatus::finished;
  return result.stopped ? RunStatus::stopped : RunStatus::deadlocked;
}

// Throws core::InputError where simulated time has run out. Collective.
model::Outcome outcome_of(const std::string& file, const model::Cluster& cluster,
                          const pdes::Engine& engine, const pdes::RunResult& result,
                          pdes::Transport& transport) {
  model::Outcome outcome(cluster, result.late ? &*result.late : nullptr);
  engine.visit([&](core::LpId lp, const void* state) { outcome.add(lp, state); });
  outcome.combine(transport);
  if (!result.late) return outcome;
  agree(transport, [&] {
    if (transport.rank().value != 0) return;
    throw core::InputError(
        file, fmt::format("simulated time passes {}: {}; expected smaller amounts, or higher rates",
                          core::kEndOfTimeText, outcome.late_work()));
  });
  return outcome;
}

// How long each job takes with nothing else on the cluster, on the devices that it has beside the
// others; 0 where it does not end. Collective.
std::vector<core::Time> run_alone(const RunReport& report, const Prepared& p,
                                  const TimeLimit& limit, pdes::Transport& transport) {
  std::vector<core::Time> durations;
  pdes::EngineOptions options = p.engine;
  options.sample_interval_s = 0;
  EXAWARP_CHECK(report.jobs->jobs.size() == report.jobs->graphs.size());
  for (std::uint32_t j = 0; j < report.jobs->jobs.size(); ++j) {
    const auto cluster = cluster_of(*report.study, *report.jobs, j);
    const auto changed = changed_clusters_of(*report.study, *report.jobs, *cluster, j);
    options.time_limit_s = limit.left_s();
    pdes::Engine engine(model_of(*cluster, changed.get()), p.placement, options, transport);
    const pdes::RunResult result = engine.run();
    // Of pools that hand requests over both run.
    const auto jobs =
        outcome_of(report.study->file, *cluster, engine, result, transport).jobs();
    const auto job = std::ranges::find(jobs, report.jobs->jobs[j].name, &model::JobTotals::name);
    EXAWARP_CHECK(job != jobs.end(), j);
    durations.push_back(job->finished ? job->duration : core::Time{0});
  }
  return durations;
}

// The study with one more step of its only job.
std::unique_ptr<const Study> with_another_step(const Study& study) {
  auto out = std::make_unique<Study>(study);
  auto* spec = out->jobs.size() == 1 ? std::get_if<WorkloadSpec>(&out->jobs[0].workload) : nullptr;
  auto* transformer = spec == nullptr ? nullptr : std::get_if<model::TransformerSpec>(spec);
  if (transformer == nullptr) {
    throw core::InputError(study.file,
                           "--steady-step is of one generated training job: \"" + study.name +
                               "\"; expected a workload with \"transformer\"");
  }
  ++transformer->steps;
  model::check(*transformer);
  return out;
}

// What one more step adds to the time simulated; none where it does not end. Collective.
std::optional<core::Time> steady_step(const Study& longer, const RunReport& report,
                                      const Prepared& p, const TimeLimit& limit,
                                      pdes::Transport& transport) {
  std::unique_ptr<const model::Cluster> cluster;
  std::unique_ptr<const ChangedClusters> changed;
  std::optional<LoadedJobs> jobs;
  agree(transport, [&] {
    in_file(longer.file, [&] {
      jobs.emplace(load_jobs(longer));
      add_requests(longer, *jobs);
      cluster = cluster_of(longer, *jobs);
      changed = changed_clusters_of(longer, *jobs, *cluster);
    });
  });
  pdes::EngineOptions options = p.engine;
  options.sample_interval_s = 0;
  options.time_limit_s = limit.left_s();
  pdes::Engine engine(model_of(*cluster, changed.get()), p.placement, options, transport);
  const pdes::RunResult result = engine.run();
  const model::Outcome outcome = outcome_of(longer.file, *cluster, engine, result, transport);
  if (outcome.unfinished() != 0) return {};
  return outcome.simulated_time() - report.outcome->simulated_time();
}

std::unique_ptr<const Study> with_options(const Study& study, const RunOptions& options) {
  auto out = std::make_unique<Study>(study);
  out->engine = with_options(study.engine, options);
  if (options.count_ports) out->packets.count_ports = true;
  out->trace_messages = out->packets.trace_messages = options.trace_messages;
  out->trace_power = options.trace_power;
  if (options.timeline) out->timeline_devices = options.timeline->devices;
  out->traces_all = options.critical_path;
  for (StudyChange& change : out->changes) change.study = with_options(*change.study, options);
  return out;
}

// Null where it is not asked for. Collective.
std::unique_ptr<model::PowerTrace> power_trace(const RunReport& report, const Prepared& p,
                                               pdes::Transport& transport) {
  const Study& study = *report.study;
  if (!study.trace_power) return nullptr;
  std::unique_ptr<model::PowerTrace> out;
  agree(transport, [&] {
    in_file(study.file, [&] {
      out = std::make_unique<model::PowerTrace>(*report.cluster, study.system.power,
                                                p.placement.partitions(), study.power);
    });
  });
  return out;
}

// Collective.
void finish_power(RunReport& report, pdes::Transport& transport) {
  if (report.power == nullptr) return;
  report.power->combine(transport);
  if (report.status == RunStatus::finished && transport.rank().value == 0) {
    return report.power->finish(*report.outcome);
  }
  report.power.reset();
}

// What devices do, for a file or for the critical path.
std::optional<model::TimelineOptions> timeline_of(const RunOptions& options) {
  if (!options.critical_path) return options.timeline;
  return model::TimelineOptions{.slices_max = model::kPathTasksMax, .tasks_alone = true};
}

// On rank 0, of the finished timeline.
void find_critical_path(RunReport& report) {
  PathReport& path = report.path.emplace();
  if (report.status != RunStatus::finished) {
    path.why_not = "the run did not finish";
  } else if (report.changed != nullptr) {
    path.why_not = "the cluster changes";
  } else if (report.timeline->cut()) {
    path.why_not = fmt::format("the run has more than {} tasks", model::kPathTasksMax);
  } else {
    path.found = model::critical_path(*report.cluster, *report.timeline);
    if (!path.found) path.why_not = "no task takes time";
  }
  report.timeline.reset();
}

std::unique_ptr<const Study> with_faster(const Study& study, PathResource resource) {
  auto out = std::make_unique<Study>(study);
  out->traces_all = out->trace_power = false;
  switch (resource) {
    case PathResource::compute:
      out->faster.compute = kPathCheckFactor;
      break;
    case PathResource::launch:
      for (core::Time* t : {&out->system.accelerator.launch_latency,
                            &out->system.accelerator.graph_launch_latency}) {
        *t = core::Time{t->ps / kPathCheckFactor};
      }
      break;
    case PathResource::bandwidth:
      out->faster.bandwidth = kPathCheckFactor;
      break;
    case PathResource::latency:
      out->faster.latency = kPathCheckFactor;
      break;
  }
  return out;
}

// The study with each resource faster; what packets take cannot be. Collective.
std::vector<PathCheck> check_path(const RunReport& report, const Prepared& p,
                                  const TimeLimit& limit, pdes::Transport& transport) {
  std::vector<PathCheck> checks;
  pdes::EngineOptions options = p.engine;
  options.sample_interval_s = 0;
  for (std::size_t r = 0; r < kPathResourceCount; ++r) {
    const auto resource = static_cast<PathResource>(r);
    if (report.cluster->has_packets() && resource >= PathResource::bandwidth) break;
    const auto study = with_faster(*report.study, resource);
    const auto cluster = cluster_of(*study, *report.jobs);
    // Devices may fold otherwise.
    const bool same = cluster->atom_count() == report.cluster->atom_count();
    const core::Placement blocks = partition::place_in_blocks(
        {.atoms = cluster->atom_count(),
         .atom_shift = cluster->atom_shift(),
         .ranks = transport.ranks(),
         .partitions_per_rank = p.placement.partitions() / transport.ranks()});
    options.time_limit_s = limit.left_s();
    pdes::Engine engine(*cluster, same ? p.placement : blocks, options, transport);
    const pdes::RunResult result = engine.run();
    const model::Outcome outcome =
        outcome_of(report.study->file, *cluster, engine, result, transport);
    if (outcome.unfinished() == 0) checks.push_back({resource, outcome.simulated_time()});
  }
  return checks;
}

// Gives RunOptions::measure its function, where there is one. This rank's devices stand for all.
void offer_measure(const RunOptions& options, const RunReport& report, const pdes::Engine& engine,
                   const pdes::Transport& transport) {
  const model::Cluster& cluster = *report.cluster;
  const bool known =
      cluster.has_packets() && cluster.served().empty() && report.changed == nullptr;
  if (!options.measure || !known) return;
  const double ranks = transport.ranks();
  options.measure([=, &cluster, &engine](std::uint64_t events, std::uint64_t expected) {
    model::WorkDone done(cluster);
    engine.visit([&](core::LpId lp, const void* state) { done.add(lp, state); });
    return done.share(static_cast<double>(events) / ranks, static_cast<double>(expected) / ranks);
  });
}

void look_at_finished(RunReport& report, const pdes::Transport& transport) {
  if (report.status != RunStatus::finished) return;
  check_served(report);
  if (transport.rank().value == 0) report.link_loads = model::link_loads(*report.cluster);
}

// Collective. Also of a run that did not finish: it shows what devices wait for.
void finish_timeline(RunReport& report, const model::Cluster& cluster,
                     pdes::Transport& transport) {
  if (report.timeline == nullptr) return;
  report.timeline->combine(transport);
  if (transport.rank().value != 0) return;
  const bool finished = report.status == RunStatus::finished;
  report.timeline->finish(cluster, {.at = finished ? report.outcome->simulated_time()
                                                   : report.result.last_event,
                                    .all_finished = finished});
}

}  // namespace

RunReport simulate_all_of(const Study& study, const RunOptions& options, const pdes::CutPlan& cuts,
                          pdes::Transport& transport) {
  const Clock::time_point start = Clock::now();
  RunReport report;
  report.study = with_options(study, options);
  const TimeLimit limit(report.study->engine.time_limit_s, options.started);
  std::unique_ptr<const Study> longer;
  if (options.steady_step) {
    agree(transport, [&] { longer = with_another_step(*report.study); });
  }
  Prepared p = prepared(options, limit, report, transport);
  const double prepared_s = seconds_since(start);
  report.power = power_trace(report, p, transport);
  report.requests = std::make_unique<model::serving::ClusterOutcome>(*report.cluster);
  pdes::EmissionSink* next =
      report.cluster->served().empty() ? static_cast<pdes::EmissionSink*>(report.power.get())
                                       : report.requests.get();
  if (const auto timeline = timeline_of(options)) {
    report.timeline =
        std::make_unique<model::Timeline>(p.placement.partitions(), *timeline, next);
    next = report.timeline.get();
  }
  if (options.trace_messages) {
    report.messages = std::make_unique<model::MessageTrace>(p.placement.partitions(), next);
    next = report.messages.get();
  }
  report.counters = std::make_unique<model::PortCounters>(p.placement.partitions(),
                                                          report.study->counters, next);
  p.engine.time_limit_s = limit.left_s();
  pdes::Engine engine(model_of(*report.cluster, report.changed.get()), p.placement, p.engine,
                      transport, report.counters.get());
  Checkpointing checkpoints(options, facts_of(*report.study, options),
                            sinks_of(report, options), engine, transport);
  offer_measure(options, report, engine, transport);
  report.result = engine.run(options.progress, cuts.take ? cuts : checkpoints.plan());
  checkpoints.describe(report);
  report.setup_s = prepared_s + report.result.setup_s;
  report.threads = p.engine.threads;
  const model::Cluster& last =
      report.changed == nullptr ? *report.cluster : *report.changed->later.back();
  report.outcome = outcome_of(report.study->file, last, engine, report.result, transport);
  gather_served(engine, report, transport);
  report.status = status_of(report.result, *report.outcome, unanswered_requests(report));
  look_at_finished(report, transport);
  if (options.compare_alone && report.status == RunStatus::finished) {
    report.alone = run_alone(report, p, limit, transport);
  }
  if (longer && report.status == RunStatus::finished) {
    report.steady_step = steady_step(*longer, report, p, limit, transport);
  }
  set_facts(report, p.engine, report.study->engine.time_limit_s, transport);
  finish_power(report, transport);
  finish_timeline(report, last, transport);
  std::vector<PathCheck> checks;
  if (options.check_critical_path && report.status == RunStatus::finished &&
      report.changed == nullptr) {
    checks = check_path(report, p, limit, transport);
  }
  if (options.critical_path && transport.rank().value == 0) {
    find_critical_path(report);
    report.path->checks = std::move(checks);
  }
  if (report.messages != nullptr) report.messages->combine(transport);
  if (options.count_ports) {
    report.counters->combine(transport);
  } else {
    report.counters.reset();
  }
  return report;
}

}  // namespace exawarp::io
