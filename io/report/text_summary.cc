// The same facts as summary.json for people: a few aligned lines each on the step, the jobs, the
// network, the engine and the host, and, where it ended in a deadlock, who waits for whom.
#include "io/report/text_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "core/units.h"
#include "io/report/append.h"
#include "io/report/energy_report.h"
#include "io/report/flow_facts.h"
#include "io/report/memory_report.h"
#include "io/report/served_report.h"
#include "io/report/skip_facts.h"
#include "io/report/statements.h"
#include "io/report/step_path.h"
#include "model/compute_times.h"
#include "model/device/device.h"
#include "model/workload/names.h"

namespace exawarp::io {
namespace {

using core::format_bytes;
using core::format_count;
using core::format_grouped;
using model::ClassTotals;
using model::Outcome;
using model::TimeClass;

// Of more classes the first ones and the last are printed; summary.json has all.
constexpr std::size_t kClassRowsMax = 4, kClassRowsFirst = 2;
constexpr std::size_t kJobRowsMax = 64;
constexpr std::size_t kNameWidth = 18;

std::string plural(std::uint64_t n, const char* noun) {
  return fmt::format("{} {}{}", format_grouped(n), noun, n == 1 ? "" : "s");
}

// Time classes that any device spent time in; compute and waiting always.
std::vector<TimeClass> columns_of(const Outcome& outcome) {
  std::vector<TimeClass> columns;
  const ClassTotals total = outcome.total();
  for (std::size_t i = 0; i < model::kTimeClassCount; ++i) {
    const auto c = static_cast<TimeClass>(i);
    if (c == TimeClass::compute || c == TimeClass::waiting || outcome.time_in(total, c) != 0) {
      columns.push_back(c);
    }
  }
  return columns;
}

std::string heading_of(TimeClass c) {
  if (c == TimeClass::waiting) return "bubble";
  return std::string(model::kTimeClassNames[model::index_of(c)]);
}

std::string row(const std::string& name, std::uint64_t devices, const ClassTotals& totals,
                const Outcome& outcome, const std::vector<TimeClass>& columns) {
  std::string line = fmt::format("  {:<{}.{}} {:>8}", name, kNameWidth, kNameWidth,
                                 format_grouped(devices));
  for (const TimeClass c : columns) {
    append(line, " {:>9.2f}%", 100 * outcome.fraction(totals, c));
  }
  return line + "\n";
}

void add_breakdown(const Outcome& outcome, std::string& out) {
  const std::vector<TimeClass> columns = columns_of(outcome);
  out += "Device time (tensor, context, expert, data, pipeline: exposed communication)\n";
  append(out, "  {:<{}} {:>8}", "class", kNameWidth, "devices");
  for (const TimeClass c : columns) append(out, " {:>10}", heading_of(c));
  out += "\n";
  const auto all = outcome.classes();
  const bool elided = all.size() > kClassRowsMax;
  for (const ClassTotals& totals : elided ? all.first(kClassRowsFirst) : all) {
    out += row(totals.name, totals.devices, totals, outcome, columns);
  }
  if (elided) {
    append(out, "  ... ({} classes)\n", all.size() - kClassRowsFirst - 1);
    out += row(all.back().name, all.back().devices, all.back(), outcome, columns);
  }
  if (all.size() != 1) {
    const ClassTotals total = outcome.total();
    out += row("all", total.devices, total, outcome, columns);
  }
}

// Shares of each job's own devices and duration.
void add_jobs(const RunReport& r, std::string& out) {
  append(out, "{:<20} {:>8} {:<9} {:>11} {:>11} {:>11} {:>8} {:>8} {:>8} {:>8}", "Jobs", "devices",
         "placement", "start", "finish", "step", "compute", "exposed", "waiting", "idle");
  if (!r.alone.empty()) append(out, " {:>11} {:>9}", "alone", "slow-down");
  out += "\n";
  const std::vector<model::JobTotals> all = r.outcome->jobs();
  for (std::size_t j = 0; j < std::min(all.size(), kJobRowsMax); ++j) {
    const model::JobTotals& job = all[j];
    double exposed = 0;
    for (std::size_t i = 1; i <= model::kCommunicationKindCount; ++i) {
      exposed += Outcome::fraction(job, static_cast<TimeClass>(i));
    }
    append(out, "  {:<{}.{}} {:>8} {:<9} {:>11} {:>11} {:>11}", job.name, kNameWidth, kNameWidth,
           format_grouped(job.totals.devices), core::name_of(r.study->jobs[j].placement.kind),
           core::format_time(job.totals.start), core::format_time(job.totals.last_finish),
           core::format_time(job.step_time));
    for (const double share : {Outcome::fraction(job, TimeClass::compute), exposed,
                               Outcome::fraction(job, TimeClass::waiting),
                               Outcome::fraction(job, TimeClass::idle)}) {
      append(out, " {:>6.1f} %", 100 * share);
    }
    if (j < r.alone.size()) {
      append(out, " {:>11} {:>9.4f}", core::format_time(r.alone[j]), slowdown_of(job, r.alone[j]));
    }
    out += "\n";
  }
  if (all.size() > kJobRowsMax) {
    append(out, "  ... and {} more jobs, see summary.json\n", all.size() - kJobRowsMax);
  }
}

void add_fold(const RunReport& r, std::string& out) {
  if (r.study->folding == model::Folding::off) return;
  const std::string& why_not = r.cluster->why_not_folded();
  if (!why_not.empty()) {
    append(out, "Folded      not: {}\n", why_not);
    return;
  }
  append(out, "Folded      {}: {} simulated, each for all that do the same\n",
         r.cluster->folds_exactly() ? "exactly" : "but for the order in one picosecond",
         plural(r.cluster->device_lps(), "device"));
}

void add_repetition(const RunReport& r, std::string& out) {
  if (!r.repetition) return;
  const Repetition& of = *r.repetition;
  if (!of.why_not.empty()) {
    append(out, "Repeated    not: {}\n", of.why_not);
    return;
  }
  append(out, "Repeated    exactly: {} of {} steps simulated, each further one takes {}\n",
         format_grouped(static_cast<std::uint64_t>(of.simulated_steps)),
         format_grouped(static_cast<std::uint64_t>(of.steps)), core::format_time(of.period));
}

void add_background(const model::BackgroundTotals& b, std::string& out) {
  append(out, "Background  {} sent, {}; {} received\n", plural(b.sent_messages, "message"),
         format_bytes(b.sent_bytes), format_grouped(b.received_messages));
}

void add_training(const Outcome& outcome, std::string& out) {
  const model::TrainingFigures t = outcome.training();
  if (t.tokens_per_s <= 0) return;
  append(out, "Throughput  {} tokens/s, {:.1f} TFLOP/s per device", format_count(t.tokens_per_s),
         t.tflops_per_device);
  if (t.model_flops_utilisation > 0) {
    append(out, ", MFU {:.1f} %", 100 * t.model_flops_utilisation);
  }
  out += "\n";
}

// Where passes run together: how long an average device was in each kind, and in none.
void add_passes(const Outcome& outcome, std::string& out) {
  const std::vector<model::PassTime> passes = model::pass_times(outcome);
  if (passes.empty()) return;
  double bubble = core::to_seconds(outcome.iteration_time());
  out += "Passes      ";
  for (const model::PassTime& p : passes) {
    append(out, "{} {:.4g} s, ", core::name_of(p.pass), p.seconds);
    bubble -= p.seconds;
  }
  append(out, "bubble {:.4g} s\n", bubble);
}

// What an average device computes in a step; nothing where no node says what it belongs to.
void add_compute(const RunReport& r, std::string& out) {
  std::string phases;
  double sum = 0;
  const std::vector<model::ComputeTime> times = model::compute_times(*r.cluster, *r.outcome);
  for (std::size_t i = 0; i < times.size(); ++i) {
    sum += times[i].seconds;
    if (i + 1 < times.size() && times[i + 1].phase == times[i].phase) continue;
    append(phases, "{}{} {:.4g} s", phases.empty() ? "" : ", ", core::name_of(times[i].phase), sum);
    sum = 0;
  }
  const bool says = std::ranges::any_of(times, [](const model::ComputeTime& t) {
    return t.phase != model::schema::Phase::NONE;
  });
  if (says) append(out, "Phases      {}\n", phases);
}

void add_step(const RunReport& r, std::string& out) {
  const Outcome& outcome = *r.outcome;
  if (r.status == RunStatus::finished) {
    append(out, "Step time   {}", core::format_time(outcome.iteration_time()));
    if (outcome.iteration_time() != outcome.simulated_time()) {
      append(out, " ({} simulated)", core::format_time(outcome.simulated_time()));
    }
    out += "\n";
    if (r.steady_step) {
      append(out, "Steady step {}: what one more step adds\n", core::format_time(*r.steady_step));
    }
    add_training(outcome, out);
    add_compute(r, out);
    add_passes(outcome, out);
    return;
  }
  append(out, "{}  {} of {} unfinished at {}\n",
         r.status == RunStatus::deadlocked ? "Deadlock  " : "Stopped   ",
         format_grouped(outcome.unfinished()), plural(outcome.devices(), "device"),
         core::format_time(r.result.last_event));
}

std::string provenances(const std::function<double(model::Provenance)>& share_of) {
  std::string line;
  for (const auto& [name, provenance] : names_of(model::Provenance{})) {
    const double share = share_of(provenance);
    if (share < 0.0005) continue;
    append(line, "{}{:.1f} % {}", line.empty() ? "" : ", ", 100 * share, name);
  }
  return line;
}

// How compute times are known.
void add_pedigree(const Outcome& outcome, std::string& out) {
  const model::Pedigree pedigree = outcome.pedigree();
  const double all = pedigree.total_ps();
  if (all <= 0) return;
  append(out, "Kernels     {}\n", provenances([&](model::Provenance provenance) {
                   return pedigree.total_ps(provenance) / all;
                 }));
  for (const auto& [name, operation] : names_of(model::schema::Operation{})) {
    const double of_kind = pedigree.total_ps(operation);
    if (of_kind / all < 0.0005) continue;
    const auto& shares = pedigree.ps.at(static_cast<std::size_t>(operation));
    append(out, "  {:<12} {:>5.1f} %: {}\n", name, 100 * of_kind / all,
           provenances([&](model::Provenance provenance) {
             return shares.at(static_cast<std::size_t>(provenance)) / of_kind;
           }));
  }
  append(out, "  errors of compute times move the step by {:.1f} %\n",
         100 * outcome.step_time_error());
}

// How far idle time may be from what was assumed of it.
constexpr double kIdleShareOff = 0.03;

// What the clock of busy devices makes of kernels that were measured in bursts.
void add_clock(const RunReport& r, std::string& out) {
  const model::Accelerator& accelerator = r.study->system.accelerator;
  if (!accelerator.slows_by_idle_share()) return;
  const double seen = r.outcome->idle_share();
  append(out,
         "  idle {:.1f} % of the time, assumed {:.1f} %: products take {:.3f} times what they "
         "took in bursts\n",
         100 * seen, 100 * accelerator.idle_share, accelerator.sustained_slowdown());
  if (accelerator.idle_share_known || std::abs(seen - accelerator.idle_share) < kIdleShareOff) {
    return;
  }
  out += "    (--set compute.idle_share=simulated assumes what comes out)\n";
}

void add_packets(const RunReport& r, std::string& out) {
  if (!r.cluster->has_packets()) return;
  const model::PacketTotals& n = r.outcome->packets();
  const double run_s = r.result.run_s;
  append(out, "Packets     {} hops ({}/s), {} dropped, {} sent again, {} marked\n",
         format_grouped(n.packet_hops),
         format_count(run_s > 0 ? static_cast<double>(n.packet_hops) / run_s : 0),
         format_grouped(n.drops), format_grouped(n.repeated), format_grouped(n.marks));
  append(out, "            {}, deepest queue {} of its line\n", plural(n.pauses, "pause"),
         core::format_time(n.deepest_queue));
  if (r.cluster->packet_network().skips()) {
    append(out, "Skipped     {}\n", skips_text(r.outcome->skips(), n.packet_hops + n.packets_sent));
  }
}

void add_flows(const RunReport& r, std::string& out) {
  if (!r.cluster->has_flows()) return;
  const model::FlowTotals& n = r.outcome->flows();
  append(out, "Flows       {}, {} at once at most\n", format_grouped(n.ended),
         format_grouped(n.most_flows));
  append(out, "            shares {}\n", shares_text(n));
}

void add_engine(const pdes::RunResult& result, pdes::Sync sync, std::uint32_t ranks,
                std::string& out) {
  const pdes::Statistics& s = result.total;
  append(out, "Engine      {}, {} x {}, {}\n", core::name_of(sync), plural(ranks, "rank"),
         plural(result.threads, "thread"), plural(result.partition_count, "partition"));
  append(out, "Events      {} committed, {} events/s\n", format_grouped(s.committed_events()),
         format_count(events_per_s(result)));
  if (sync != pdes::Sync::sequential) {
    append(out, "            efficiency {:.2f} %, {} rolled back in {}, {}\n", 100 * s.efficiency(),
           format_grouped(s.rolled_back_events), plural(s.rollbacks(), "rollback"),
           plural(s.gvt_rounds, "GVT round"));
  }
}

// What the workers did all the time. Undoing an event counts with what found it wrong: executing,
// or reading mailboxes.
void add_host_time(const pdes::RunResult& result, std::string& out) {
  const pdes::HostTime& t = result.host_time;
  struct Row {
    double share;
    const char* text;
  };
  const Row rows[] = {{t.executing, "executing events, and undoing them"},
                      {t.mailboxes, "reading mailboxes, and undoing what stragglers contradict"},
                      {t.collecting, "fossil collection"},
                      {t.synchronising, "GVT, exchange with other ranks, waiting for them"},
                      {t.waiting, "waiting for other partitions"}};
  append(out, "Worker time {:.2f} s, of which\n", t.worker_s);
  for (const Row& row : rows) {
    if (row.share >= 0.0005) {
      append(out, "            {:>5.1f} % {}\n", 100 * row.share, row.text);
    }
  }
  if (result.partition_count == 1 || t.mean_busy_s <= 0) return;
  const auto times_mean = [&t](const pdes::PartitionLoad& load) {
    return static_cast<double>(load.busy_ns) * 1e-9 / t.mean_busy_s;
  };
  append(out, "            partitions: {} worked {:.2f} times the mean, {} {:.2f} times\n",
         t.heaviest.partition, times_mean(t.heaviest), t.lightest.partition,
         times_mean(t.lightest));
}

void add_host(const pdes::RunResult& result, double setup_s, std::uint64_t peak_rss,
              std::string& out) {
  append(out, "Host        setup {:.2f} s, run {:.2f} s, peak memory {}\n", setup_s, result.run_s,
         format_bytes(peak_rss));
  add_host_time(result, out);
  append(out, "Digest      {}\n", core::to_hex(result.digest));
}

// Whether links that failed are why: the first pair of devices without a way.
std::string cut_off_by_faults(const RunReport& r) {
  const model::MessageFaults* message_faults = r.cluster->devices().message_faults.get();
  if (message_faults == nullptr) return "";
  for (const model::WaitingDevice& device : r.outcome->waiting()) {
    const auto from = message_faults->cut_off_from({device.device}, r.result.last_event);
    if (!from) continue;
    return fmt::format("; faults leave no way from device {} to device {}", from->value,
                       device.device);
  }
  return "";
}

}  // namespace

std::string text_summary(const RunReport& r) {
  const Study& study = *r.study;
  std::string out = study.name;
  if (!study.description.empty()) out += ": " + study.description;
  append(out, "\nCluster     {} ({}), {}; network {}, compute {}",
         plural(r.cluster->device_count(), "device"), study.system.accelerator.name,
         study.system.name, core::name_of(study.network_fidelity),
         core::name_of(study.compute.fidelity));
  if (study.compute_jitter.deviation > 0) {
    append(out, " with {:g} % jitter", 100 * study.compute_jitter.deviation);
  }
  if (study.system.rank_noise.deviation > 0) {
    append(out, ", {:g} % noise of ranks", 100 * study.system.rank_noise.deviation);
  }
  out += "\n";
  if (!r.overrides.empty()) {
    append(out, "Overrides   {}\n", fmt::join(r.overrides, " "));
  }
  add_fold(r, out);
  add_repetition(r, out);
  add_step(r, out);
  if (const auto statements = statements_of(r)) out += statements_text(*statements);
  for (const auto& graph : r.jobs->graphs) {
    out += memory_summary(*graph, study.system.accelerator);
  }
  if (const auto energy = energy_of(r)) {
    out += energy_text(*energy, *r.outcome);
    const double token_j = answered_token_j(r, *energy);
    if (token_j > 0) append(out, "            {:.3g} J for each token answered\n", token_j);
  }
  if (r.power != nullptr) out += power_text(*r.power, *r.outcome);
  out += "\n";
  if (study.by_jobs || !r.alone.empty()) add_jobs(r, out);
  if (!study.backgrounds.empty()) add_background(r.outcome->background(), out);
  if (study.by_jobs || !r.alone.empty() || !study.backgrounds.empty()) out += "\n";
  if (const std::string served = served_text(r); !served.empty()) out += served + "\n";
  if (r.status == RunStatus::finished) {  // shares of an unfinished step would mean nothing
    add_breakdown(*r.outcome, out);
    out += "\n";
    add_pedigree(*r.outcome, out);
    add_clock(r, out);
    out += "\n";
  }
  if (r.path) out += path_text(r) + "\n";
  add_packets(r, out);
  add_flows(r, out);
  add_engine(r.result, r.sync, r.ranks, out);
  add_host(r.result, r.setup_s, r.peak_rss_bytes, out);
  append(out, "Results     {}/summary.json\n", r.directory);
  return out;
}

std::string phold_text(const PholdReport& r) {
  std::string out;
  add_engine(r.result, r.sync, r.ranks, out);
  add_host(r.result, r.result.setup_s, r.peak_rss_bytes, out);
  return out;
}

std::string deadlock_text(const RunReport& r) {
  const model::Outcome& outcome = *r.outcome;
  std::string text = fmt::format("{}: the simulated system deadlocked: {} of {} devices wait{}\n",
                                 r.study->file, outcome.unfinished(), outcome.devices(),
                                 cut_off_by_faults(r));
  if (const std::uint64_t unanswered = unanswered_requests(r); unanswered != 0) {
    text += fmt::format("  unanswered requests: {}\n", format_grouped(unanswered));
  }
  for (const model::WaitingDevice& device : outcome.waiting()) text += "  " + device.text + "\n";
  if (outcome.unfinished() > outcome.waiting().size()) {
    text += fmt::format("  ... and {} more\n", outcome.unfinished() - outcome.waiting().size());
  }
  return text;
}

}  // namespace exawarp::io
