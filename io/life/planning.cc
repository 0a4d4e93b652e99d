#include "io/life/planning.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "core/machine.h"
#include "core/units.h"
#include "io/life/epoch_times.h"
#include "io/life/machine_costs.h"
#include "io/life/prediction.h"
#include "io/life/study_run.h"

namespace exawarp::io {
namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t resident_bytes() {
  std::uint64_t mapped_pages = 0, pages = 0;
  std::ifstream("/proc/self/statm") >> mapped_pages >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// What is known of a run that was stopped: what it did, and how much work that was of all.
struct Simulated {
  pdes::RunResult result;
  RunStatus status = RunStatus::finished;
  std::uint64_t hops = 0;           // of packets
  std::uint64_t hops_expected = 0;  // in all; 0: none, or not known
};

// Work of the LPs that are no devices: switches, whose work is packets.
std::uint64_t work_from(const model::Traffic& traffic, std::uint32_t first_atom) {
  std::uint64_t work = 0;
  for (std::size_t a = first_atom; a < traffic.work.size(); ++a) work += traffic.work[a];
  return work;
}

Simulated simulate_piece(const Study& study, const RunOptions& options,
                         pdes::Transport& transport) {
  const RunReport report = simulate_all_of(study, options, {}, transport);
  Simulated out{.result = report.result, .status = report.status};
  if (report.cluster->has_packets() && report.status == RunStatus::stopped) {
    const std::uint32_t shift = report.cluster->atom_shift();
    const std::uint32_t devices = (report.cluster->device_lps() + (1u << shift) - 1) >> shift;
    out.hops = report.outcome->packets().packet_hops;
    out.hops_expected = work_from(report.cluster->traffic(), devices);
  }
  return out;
}

Simulated simulate_piece(const TrafficStudy& study, const RunOptions& options,
                         pdes::Transport& transport) {
  const TrafficReport report = simulate(study, options, transport);
  Simulated out{.result = report.result, .status = report.status};
  if (report.status == RunStatus::stopped && !report.traffic->has_flows()) {
    out.hops = report.totals.packet_hops;
    out.hops_expected = work_from(report.traffic->graph(), study.devices);
  }
  return out;
}

Simulated simulate_piece(const PholdRun& run, const RunOptions& options,
                         pdes::Transport& transport) {
  const PholdReport report = simulate(run, options, transport);
  return {.result = report.result, .status = report.status};
}

// In all, where `listed` is what the workload counts; 0: not known.
double events_in_all(const Plannable& what, const Simulated& done, std::uint64_t listed) {
  const auto events = static_cast<double>(done.result.total.committed_events());
  // Of PHOLD any time has as many as any other.
  if (const auto* const phold = std::get_if<PholdRun>(&what)) {
    const double reached = core::to_seconds(done.result.last_event);
    return reached <= 0 ? 0 : events * core::to_seconds(phold->end) / reached;
  }
  if (done.hops != 0 && done.hops_expected != 0) {  // a train of packets is few events
    return events * static_cast<double>(done.hops_expected) / static_cast<double>(done.hops);
  }
  return static_cast<double>(listed);
}

struct Measured {
  PlanSample sample;
  std::uint32_t partitions = 1;
  RunStatus status = RunStatus::finished;
};

// Of the sample what the run says, the events in all apart.
void add_result(const pdes::RunResult& result, PlanSample& sample) {
  sample.constructed_s = result.setup_s;
  sample.events = result.total.committed_events();
  sample.processed = result.total.processed_events;
  sample.undone = result.total.rolled_back_events;
  sample.lp_bytes = result.most_memory.lp_bytes;
  sample.directory_bytes = result.most_memory.directory_bytes;
  for (const pdes::Statistics& s : result.partitions) {
    sample.partition_bytes.push_back(s.event_bytes + s.log_bytes);
  }
}

Measured measure(const Plannable& what, const PlanRequest& request, PlannedEpochs& epochs,
                 std::uint32_t threads) {
  Measured out;
  std::uint64_t listed = 0;
  const Clock::time_point start = Clock::now();
  RunOptions options = request.options;
  options.threads = request.shape.threads;
  options.rehearsal = &epochs;
  options.rehearsal_threads = threads;
  options.ready = [&](std::uint64_t events_expected) {
    out.sample.prepared_s = std::chrono::duration<double>(Clock::now() - start).count();
    out.sample.peak_bytes = peak_rss_bytes();
    out.sample.resident_bytes = resident_bytes();
    listed = events_expected;
  };
  const auto transport = pdes::make_single_transport();
  const Simulated done =
      std::visit([&](const auto& of) { return simulate_piece(of, options, *transport); }, what);
  add_result(done.result, out.sample);
  out.sample.grown_bytes =
      std::max(peak_rss_bytes(), out.sample.resident_bytes) - out.sample.resident_bytes;
  out.sample.whole = !done.result.stopped;
  out.sample.events_in_all = events_in_all(what, done, listed);
  out.partitions = done.result.partition_count;
  out.status = done.status;
  return out;
}

std::string name_of(const Plannable& what) {
  if (const auto* const study = std::get_if<Study>(&what)) return study->name;
  if (const auto* const traffic = std::get_if<TrafficStudy>(&what)) return traffic->name;
  return "phold";
}

std::uint32_t workers_of_host(const PlanRequest& request) {
  return request.shape.workers() / request.hosts;
}

void add_assumptions(const PlanRequest& request, const MachineCosts& costs,
                     const PlannedEpochs& epochs, std::uint32_t together, PlanReport& report) {
  const auto add = [&](std::string sentence) {
    report.assumptions.push_back(std::move(sentence));
  };
  if (!report.whole) {
    add(fmt::format("{} events in all, of which the sample is {:.1f} %; the rest goes on like it",
                    core::format_grouped(report.events),
                    100 * static_cast<double>(report.sample_events) /
                        static_cast<double>(std::max<std::uint64_t>(1, report.events))));
  }
  add("every core is as fast as those here");
  if (request.shape.ranks > 1) add("an MPI library takes 25 MiB of each rank");
  if (workers_of_host(request) > together) {
    add(fmt::format("{} workers of a host share its memory as {} do here",
                    workers_of_host(request), together));
  }
  if (request.shape.threads > costs.measured_threads()) {
    add(costs.measured_threads() > 1
            ? fmt::format("a barrier was measured with {} threads, and grows with their number",
                          costs.measured_threads())
            : "a barrier takes what it did on another machine, and grows with the threads");
  }
  if (request.shape.ranks / request.hosts > costs.measured_ranks()) {
    add(costs.measured_ranks() > 1
            ? fmt::format("an exchange was measured with {} ranks, and grows with their number",
                          costs.measured_ranks())
            : "an exchange takes what it did on another machine, and grows with the ranks");
  }
  if (request.hosts > 1) {
    add(fmt::format("between hosts a message and its answer take {:.0f} us (--round-trip), and an "
                    "exchange {} such",
                    request.round_trip_s * 1e6, rounds_between(request.hosts)));
  }
  if (epochs.processor_share() < 0.95) {
    add(
        fmt::format("other work took {:.0f} % of these processors, which is taken off; a quiet "
                    "machine tells more",
                    100 * (1 - epochs.processor_share())));
  }
}

}  // namespace

PlanReport make_plan(const Plannable& what, const PlanRequest& request) {
  const MachineCosts costs(request.shape);
  std::vector<RunShape> shapes = smaller_shapes(request.shape);
  std::ranges::reverse(shapes);
  std::vector<PlannedEpochs::Candidate> candidates;
  for (const RunShape& shape : shapes) {
    const std::uint32_t hosts = std::min(request.hosts, shape.ranks);
    candidates.push_back({shape, costs.of(shape, hosts, request.round_trip_s)});
  }
  const PlannedEpochs::Candidate run = candidates.front();
  PlannedEpochs epochs(candidates, request.sample_s);
  const std::uint32_t together =
      std::min(workers_of_host(request), core::discover_machine().workers_max);
  const Measured measured = measure(what, request, epochs, together);

  PlanReport report;
  report.study = name_of(what);
  report.sync = request.options.sync.value_or(pdes::Sync::optimistic);
  report.shape = request.shape;
  report.hosts = request.hosts;
  report.partitions_per_rank = measured.partitions / request.shape.ranks;
  report.costs = {.barrier_ns = run.costs.barrier_ns,
                  .exchange_ns = run.costs.exchange_ns,
                  .exchange_event_ns = run.costs.exchange_event_ns,
                  .round_trip_s = request.hosts > 1 ? request.round_trip_s : 0};
  predict(measured.sample, epochs, shapes, report);
  add_assumptions(request, costs, epochs, together, report);
  return report;
}

}  // namespace exawarp::io
