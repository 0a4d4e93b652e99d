#include "io/report/plan_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/names.h"
#include "core/units.h"
#include "io/report/append.h"
#include "io/report/printed_json.h"

namespace exawarp::io {
namespace {

using Json = nlohmann::ordered_json;

std::string counted(std::uint64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string shape_text(const RunShape& shape) {
  return fmt::format("{} x {}", counted(shape.ranks, "rank"), counted(shape.threads, "thread"));
}

double share_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

double planned_rate(const PlanReport& r) {
  return share_of(static_cast<double>(r.events), r.run_s);
}

// Over the one with fewest workers, which comes first.
double speed_up(const PlanReport& r, const PlannedShape& choice) {
  return share_of(r.choices.front().run_s, choice.run_s);
}

std::uint64_t host_bytes(const PlanReport& r) { return r.rank_bytes * (r.shape.ranks / r.hosts); }

// Where the time of the run phase goes, in the order of the page.
struct NamedTime {
  const char* key;
  const char* text;
  double EpochTimes::*ns;
};
constexpr NamedTime kTimes[] = {
    {"work", "executing events", &EpochTimes::work_ns},
    {"imbalance", "waiting for the worker that has most to do", &EpochTimes::imbalance_ns},
    {"barriers", "barriers and GVT", &EpochTimes::barrier_ns},
    {"exchange", "exchange between ranks", &EpochTimes::exchange_ns}};

const char* advice_on(PlanLimit limit) {
  switch (limit) {
    case PlanLimit::work: return "work: more workers would take a share of it";
    case PlanLimit::imbalance: return "imbalance: workers wait for the one that has most to do";
    case PlanLimit::barriers: return "barriers: epochs have too few events for so many threads";
    case PlanLimit::exchange: break;
  }
  return "exchange between ranks: fewer ranks with more threads, or a faster network";
}

void add_run(const PlanReport& r, std::string& out) {
  append(out, "Run         {:.2f} s ({:.2f} to {:.2f}), {:.3g} M events/s, of which\n", r.run_s,
         r.run_low_s, r.run_high_s, planned_rate(r) * 1e-6);
  for (const NamedTime& time : kTimes) {
    append(out, "            {:5.1f} % {}\n", 100 * share_of(r.times.*time.ns, r.times.wall_ns()),
           time.text);
  }
  append(out, "            {:.1f} % of the executions are undone\n", 100 * r.undone);
}

void add_choices(const PlanReport& r, std::string& out) {
  append(out, "\n{:>16} {:>10} {:>9} {:>11}\n", "ranks x threads", "run", "speed-up", "efficiency");
  for (const PlannedShape& choice : r.choices) {
    const double gain = speed_up(r, choice);
    const double more = share_of(choice.shape.workers(), r.choices.front().shape.workers());
    append(out, "{:>16} {:>8.2f} s {:>8.2f}x {:>10.1f}%\n",
           fmt::format("{} x {}", choice.shape.ranks, choice.shape.threads), choice.run_s, gain,
           100 * share_of(gain, more));
  }
  append(out, "\nAdvised     {}: the fewest workers within a tenth of the fastest\n",
         shape_text(r.advised));
}

Json json_of(const RunShape& shape) {
  return {{"ranks", shape.ranks}, {"threads", shape.threads}};
}

Json times_json(const PlanReport& r) {
  Json out;
  for (const NamedTime& time : kTimes) {
    out[time.key] = share_of(r.times.*time.ns, r.times.wall_ns());
  }
  out["undone"] = r.undone;
  return out;
}

Json choices_json(const PlanReport& r) {
  Json out = Json::array();
  for (const PlannedShape& choice : r.choices) {
    Json entry = json_of(choice.shape);
    entry["run_s"] = choice.run_s;
    out.push_back(entry);
  }
  return out;
}

}  // namespace

std::string plan_text(const PlanReport& r) {
  std::string out;
  append(out, "{} on {}{}, {}\n", r.study, shape_text(r.shape),
         r.hosts > 1 ? fmt::format(", {} hosts", r.hosts) : "", core::name_of(r.sync));
  append(out, "Sample      {:.2f} s on one worker: {} events of {}{}, {} epochs\n", r.sample_s,
         core::format_grouped(r.sample_events), r.whole ? "" : "about ",
         core::format_grouped(r.events), core::format_grouped(r.epochs));
  append(out, "Set-up      {:.2f} s\n", r.setup_s);
  add_run(r, out);
  append(out, "Memory      {} a rank, {} a host\n", core::format_bytes(r.rank_bytes),
         core::format_bytes(host_bytes(r)));
  append(out, "Bound by    {}\n", advice_on(r.limit));
  add_choices(r, out);
  const char* head = "Assumed";
  for (const std::string& sentence : r.assumptions) {
    append(out, "{:<12}{}\n", head, sentence);
    head = "";
  }
  return out;
}

std::string plan_json(const PlanReport& r) {
  return printed(Json{
      {"schema", "exawarp-plan-1"},
      {"study", r.study},
      {"sync", core::name_of(r.sync)},
      {"ranks", r.shape.ranks},
      {"threads", r.shape.threads},
      {"hosts", r.hosts},
      {"partitions", r.partitions_per_rank * r.shape.ranks},
      {"sample",
       {{"host_s", r.sample_s},
        {"committed_events", r.sample_events},
        {"epochs", r.epochs},
        {"whole", r.whole}}},
      {"events", r.events},
      {"setup_s", r.setup_s},
      {"run_s", r.run_s},
      {"run_s_range", {r.run_low_s, r.run_high_s}},
      {"events_per_s", planned_rate(r)},
      {"shares", times_json(r)},
      {"memory_of_a_rank_bytes", r.rank_bytes},
      {"memory_of_a_host_bytes", host_bytes(r)},
      {"costs",
       {{"event_ns", r.costs.event_ns},
        {"barrier_ns", r.costs.barrier_ns},
        {"exchange_ns", r.costs.exchange_ns},
        {"exchange_event_ns", r.costs.exchange_event_ns},
        {"round_trip_s", r.costs.round_trip_s}}},
      {"choices", choices_json(r)},
      {"advised", json_of(r.advised)},
      {"bound_by", core::name_of(r.limit)},
      {"assumptions", r.assumptions}});
}

}  // namespace exawarp::io
