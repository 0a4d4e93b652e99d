#include "io/life/capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>

#include "core/error.h"
#include "core/input_file.h"
#include "io/life/agreement.h"
#include "io/life/capacity_case.h"
#include "io/life/kept_loads.h"
#include "io/study/in_file.h"
#include "io/study/served_job_config.h"

namespace exawarp::io {
namespace {

constexpr double kRateMost = 1e9;      // of requests.rate
constexpr double kTimesMost = 1 << 20;  // the study's own rate: more would come at once anyhow

class Search {
 public:
  // `loads`: null where none are kept.
  Search(std::unique_ptr<CapacityCase> of, const RunOptions& options, KeptLoads* loads,
         pdes::Transport& transport)
      : case_(std::move(of)), options_(options), loads_(loads), transport_(transport) {}

  CapacityRow run(CapacityRow row, const CapacityOptions& capacity) {
    capacity_ = &capacity;
    row_ = std::move(row);
    row_.devices = case_->devices();
    if (bracket_and_bisect()) look_below();
    return row_;
  }
  [[nodiscard]] bool is_stopped() const { return is_stopped_; }

 private:
  // Below, the last request might come after the end of time. Who waits for nobody by then is as
  // well off as at any rate.
  [[nodiscard]] double least_rate() const {
    return 16 * static_cast<double>(requests_) / core::to_seconds(core::kEndOfTime);
  }

  // All three: false if host time ran out.
  bool bracket_and_bisect() {
    double kept = 0, broken = 0;  // rates; 0: none yet
    double rate = case_->rate();
    const double most = std::min(kRateMost, rate * kTimesMost);
    while (rate >= least_rate() && rate <= most && (kept == 0 || broken == 0)) {
      if (!tried(rate)) return false;
      (row_.points.back().is_kept ? kept : broken) = rate;
      rate *= row_.points.back().is_kept ? 2 : 0.5;
    }
    while (kept != 0 && broken > kept * (1 + capacity_->tolerance)) {
      const double middle = std::sqrt(kept * broken);
      if (!tried(middle)) return false;
      (row_.points.back().is_kept ? kept : broken) = middle;
    }
    row_.is_bounded = broken != 0;
    return true;
  }

  bool look_below() {
    double rate = row_.rate();
    for (std::uint32_t i = 0; i < capacity_->below && rate > 0; ++i) {
      rate /= 2;
      if (rate < least_rate()) break;
      if (!tried(rate)) return false;
    }
    return true;
  }

  bool tried(double rate) {
    const std::optional<LoadRun> run = loads_ != nullptr ? kept(rate) : simulated(rate);
    is_stopped_ = !run.has_value();
    if (is_stopped_) return false;
    requests_ = run->requests;
    row_.points.push_back(run->point);
    if (row_.points.back().is_kept && rate > row_.rate())
      row_.best = static_cast<int>(row_.points.size()) - 1;
    if (capacity_->progress) capacity_->progress(row_.setting, row_.points.back());
    return true;
  }

  std::optional<LoadRun> simulated(double rate) {
    const TimeLimit limit(options_.time_limit_s.value_or(0), options_.started);
    std::array<std::uint64_t, 1> over{limit.is_over() ? std::uint64_t{1} : 0};
    transport_.all_reduce_sum(over);  // clocks differ between ranks
    if (over[0] != 0) return {};
    return case_->at(rate, loads_ != nullptr ? LoadSummary::wanted : LoadSummary::left_out,
                     options_, transport_);
  }

  // From the file, or else into it.
  std::optional<LoadRun> kept(double rate) {
    std::string study;
    agree(transport_, [&] { study = case_->resolved_at(rate, options_).text; });
    if (std::optional<LoadRun> known = loads_->find(study)) return known;
    loads_->begin({.setting = row_.setting, .rate = rate}, study);
    const TimeLimit::Clock::time_point started = TimeLimit::Clock::now();
    std::optional<LoadRun> run = simulated(rate);
    const std::chrono::duration<double> took = TimeLimit::Clock::now() - started;
    loads_->end(run, took.count());
    return run;
  }

  std::unique_ptr<CapacityCase> case_;
  const RunOptions& options_;
  KeptLoads* loads_;
  pdes::Transport& transport_;
  std::uint64_t requests_ = 0;  // of a load, once there was one
  const CapacityOptions* capacity_ = nullptr;
  CapacityRow row_;
  bool is_stopped_ = false;
};

SplitLayout layout_of(const PoolConfig& pool) {
  return {.tensor = pool.layout.tensor, .pipeline = pool.layout.pipeline};
}

// A row of each split, which replaces the layouts of the study's job.
std::vector<CapacityRow> split_rows(const std::string& file,
                                    const std::vector<std::string>& overrides,
                                    const CapacityOptions& capacity) {
  if (!has_jobs(file, overrides)) {
    throw core::InputError("--split", file +
                                          " has no jobs, and so one pool; expected a study with "
                                          "a job that serves");
  }
  const Study study = read_study(file, overrides);
  const std::size_t job = serving_job(study, capacity.job);
  const ServedJobConfig& serving = *study.jobs[job].serving;
  if (!serving.decode) {
    throw core::InputError(study.jobs[job].place,
                           "serving has no decode; expected one for --split to share devices with");
  }
  std::vector<SplitLayout> prompts = capacity.prompts, decodes = capacity.decodes;
  if (prompts.empty()) prompts.push_back(layout_of(serving.pool));
  if (decodes.empty()) decodes.push_back(layout_of(*serving.decode));
  std::vector<CapacityRow> rows;
  for (const Split& split : splits_of(capacity.split, prompts, decodes)) {
    CapacityRow& row = rows.emplace_back();
    row.setting = split.name();
    row.overrides = split.overrides(place_in_file(study, job));
  }
  return rows;
}

// What is to be tried, without results.
std::vector<CapacityRow> rows_of(const std::string& file, const std::vector<std::string>& overrides,
                                 const CapacityOptions& capacity) {
  std::vector<CapacityRow> rows(1);
  if (!capacity.key.empty()) rows.clear();
  for (const std::string& value : capacity.values) {
    CapacityRow& row = rows.emplace_back();
    row.setting = capacity.key + "=" + value;
    row.overrides.push_back(row.setting);
  }
  if (capacity.split == 0) return rows;
  std::vector<CapacityRow> out;
  for (const CapacityRow& row : rows) {
    std::vector<std::string> all = overrides;
    all.insert(all.end(), row.overrides.begin(), row.overrides.end());
    for (CapacityRow& split : split_rows(file, all, capacity)) {
      CapacityRow& both = out.emplace_back(row);
      if (!both.setting.empty()) both.setting += ", ";
      both.setting += split.setting;
      both.overrides.insert(both.overrides.end(), split.overrides.begin(), split.overrides.end());
    }
  }
  return out;
}

}  // namespace

CapacityReport find_capacity(const std::string& file, const std::vector<std::string>& overrides,
                             const CapacityOptions& capacity, const RunOptions& options,
                             pdes::Transport& transport) {
  CapacityReport report{.study = {}, .tolerance = capacity.tolerance, .rows = {}};
  std::vector<CapacityRow> rows;
  const auto read = [&](const CapacityRow& row) {
    std::vector<std::string> all = overrides;
    all.insert(all.end(), row.overrides.begin(), row.overrides.end());
    return read_capacity_case(file, all, capacity.job);
  };
  std::vector<std::unique_ptr<CapacityCase>> cases;
  agree(transport, [&] {
    if (!capacity.database.empty() && file == core::kStandardInput) {
      throw core::InputError("-o", "needs a study that can be read at each load; expected a file, "
                                   "not standard input");
    }
    in_file(file, [&] {
      rows = rows_of(file, overrides, capacity);
      for (const CapacityRow& row : rows) cases.push_back(read(row));
    });
    report.study = cases.front()->name();
    if (capacity.ready) capacity.ready(cases.front()->resolved());
  });
  std::optional<KeptLoads> loads;
  if (!capacity.database.empty()) {
    const LoadsOf of{.study = report.study, .rate_key = cases.front()->rate_key()};
    loads.emplace(capacity.database, of, transport);
  }
  for (std::size_t i = 0; i < rows.size() && !report.is_stopped; ++i) {
    Search search(std::move(cases[i]), options, loads ? &*loads : nullptr, transport);
    report.rows.push_back(search.run(std::move(rows[i]), capacity));
    report.is_stopped = search.is_stopped();
  }
  mark_front(report.rows);
  return report;
}

}  // namespace exawarp::io
