// Finish times are sums of units that a user wrote in nanoseconds, so they are printed exactly, as
// decimals, and rounded in the mean alone.
#include "io/report/goal_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/digest.h"
#include "core/units.h"
#include "io/report/printed_json.h"
#include "io/report/results.h"
#include "io/report/text_summary.h"

namespace exawarp::io {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kRanksListed = 16;  // as LogGOPSim

struct Extremes {
  std::size_t latest = 0, earliest = 0;  // ranks
  double mean_units = 0;
};

Extremes extremes_of(std::span<const std::uint64_t> finish) {
  Extremes e;
  long double sum = 0;
  for (std::size_t i = 0; i < finish.size(); ++i) {
    if (finish[i] > finish[e.latest]) e.latest = i;
    if (finish[i] < finish[e.earliest]) e.earliest = i;
    sum += static_cast<long double>(finish[i]);
  }
  e.mean_units = static_cast<double>(sum / static_cast<long double>(finish.size()));
  return e;
}

std::string in_ns(const GoalReport& r, std::uint64_t units) {
  return format_ns(static_cast<std::int64_t>(units), r.model->parameters().units_per_ns);
}

// A whole number where it is one; else the nearest double.
Json ns_json(const GoalReport& r, std::uint64_t units) {
  const std::uint32_t per_ns = r.model->parameters().units_per_ns;
  if (units % per_ns == 0) return units / per_ns;
  return static_cast<double>(units) / per_ns;
}

Json parameters_json(const model::goal::Parameters& p) {
  const auto ns = [&](std::int64_t units) { return static_cast<double>(units) / p.units_per_ns; };
  return {{"L_ns", ns(p.L)}, {"o_ns", ns(p.o)}, {"g_ns", ns(p.g)}, {"G_ns_per_byte", ns(p.G)},
          {"O_ns_per_byte", ns(p.O)}, {"S_bytes", p.S}, {"as_loggopsim", p.as_loggopsim}};
}

std::string parameters_text(const model::goal::Parameters& p) {
  const auto ns = [&](std::int64_t units) { return format_ns(units, p.units_per_ns); };
  return fmt::format("L={} ns o={} ns g={} ns G={} ns/byte O={} ns/byte S={} bytes{}", ns(p.L),
                     ns(p.o), ns(p.g), ns(p.G), ns(p.O), p.S,
                     p.as_loggopsim ? ", as LogGOPSim" : "");
}

}  // namespace

std::string goal_text(const GoalReport& r) {
  const std::span<const std::uint64_t> finish = r.outcome->finish();
  const Extremes e = extremes_of(finish);
  const auto& schedule = r.model->schedule();
  std::string out =
      fmt::format("{}: {} ranks ({} CPUs, {} NICs), {} operations, {} messages{}\n{}\n",
                  schedule.place(), core::format_grouped(finish.size()), schedule.cpus(),
                  schedule.nics(), core::format_grouped(schedule.operation_count()),
                  core::format_grouped(r.outcome->messages()),
                  r.model->has_rendezvous() ? ", some by rendezvous" : "",
                  parameters_text(r.model->parameters()));
  if (finish.size() <= kRanksListed)
    for (std::size_t i = 0; i < finish.size(); ++i)
      out += fmt::format("  rank {:<3} {} ns\n", i, in_ns(r, finish[i]));
  out += fmt::format("finish max   {} ns (rank {})\n", in_ns(r, finish[e.latest]), e.latest);
  out += fmt::format("finish min   {} ns (rank {})\n", in_ns(r, finish[e.earliest]), e.earliest);
  out += fmt::format("finish mean  {:.2f} ns\n", e.mean_units / r.model->parameters().units_per_ns);
  out += fmt::format("digest       {}\n", core::to_hex(r.result.digest));
  out += fmt::format("{} events in {:.3f} s, {} rolled back\n",
                     core::format_grouped(r.result.total.committed_events()), r.result.run_s,
                     core::format_grouped(r.result.total.rolled_back_events));
  return out;
}

std::string goal_json(const GoalReport& r) {
  const std::span<const std::uint64_t> finish = r.outcome->finish();
  const Extremes e = extremes_of(finish);
  const auto& schedule = r.model->schedule();
  Json each = Json::array();
  for (const std::uint64_t units : finish) each.push_back(ns_json(r, units));
  const pdes::RunResult& result = r.result;
  const Json json{
      {"schema", "exawarp-goal-1"},
      {"file", schedule.place()},
      {"schedule_ranks", finish.size()},
      {"operations", schedule.operation_count()},
      {"messages", r.outcome->messages()},
      {"parameters", parameters_json(r.model->parameters())},
      {"rendezvous", r.model->has_rendezvous()},
      {"finish_max_ns", ns_json(r, finish[e.latest])},
      {"finish_max_rank", e.latest},
      {"finish_min_ns", ns_json(r, finish[e.earliest])},
      {"finish_min_rank", e.earliest},
      {"finish_mean_ns", e.mean_units / r.model->parameters().units_per_ns},
      {"finish_ns", each},
      {"complete", r.outcome->is_complete()},
      {"unfinished_operations", r.outcome->unfinished()},
      {"unmatched", r.outcome->unmatched()},
      {"unmatched_first", r.outcome->findings()},
      {"digest", core::to_hex(result.digest)},
      {"sync", core::name_of(r.sync)},
      {"ranks", r.ranks},
      {"threads", result.threads},
      {"partitions", result.partition_count},
      {"committed_events", result.total.committed_events()},
      {"processed_events", result.total.processed_events},
      {"rolled_back_events", result.total.rolled_back_events},
      {"setup_s", result.setup_s},
      {"run_s", result.run_s},
      {"peak_rss_bytes", r.peak_rss_bytes}};
  return printed(json);
}

std::string unmatched_text(const GoalReport& r) {
  const GoalOutcome& outcome = *r.outcome;
  std::string text =
      fmt::format("{}: the schedule did not complete: {} operations never ended, {} sends and "
                  "receives never met\n",
                  r.model->schedule().place(), outcome.unfinished(), outcome.unmatched());
  for (const std::string& finding : outcome.findings()) text += "  " + finding + "\n";
  if (outcome.unmatched() > outcome.findings().size())
    text += fmt::format("  ... and {} more\n", outcome.unmatched() - outcome.findings().size());
  return text;
}

}  // namespace exawarp::io
