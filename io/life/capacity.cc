#include "io/life/capacity.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/digest.h"
#include "core/error.h"
#include "io/life/agreement.h"
#include "io/study/in_file.h"

namespace exawarp::io {
namespace {

constexpr double kRateMost = 1e9;      // of requests.rate
constexpr double kTimesMost = 1 << 20;  // the study's own rate: more would come at once anyhow

void check(const ServingStudy& study) {
  if (!promises(study)) {
    throw core::InputError(study.file, "objectives: are missing; expected some: a capacity is the "
                                       "load at which they are kept");
  }
  if (study.requests.arrivals.kind == model::serving::Arrivals::trace) {
    throw core::InputError(study.file, "requests.arrivals: is `trace`; expected arrivals that are "
                                       "drawn, whose rate is what a capacity is");
  }
}

CapacityPoint point_of(const ServingReport& report, double rate) {
  const ServingHeadline headline = headline_of(report);
  CapacityPoint out{.rate = rate,
                    .kept_share = 1,
                    .is_kept = true,
                    .requests_per_s = headline.requests_per_s,
                    .output_tokens_per_s = headline.output_tokens_per_s,
                    .first_token_p99 = headline.first_token_p99,
                    .per_token_mean = headline.per_token_mean,
                    .digest = core::to_hex(report.result.digest)};
  const std::vector<ServingGoodput> classes = goodput_of(report);
  for (std::uint32_t c = 0; c < classes.size(); ++c) {
    const Objectives promised = objectives_of(*report.study, c);
    if (!promised.any() || classes[c].done == 0) continue;
    out.kept_share = std::min(out.kept_share, classes[c].share());
    out.is_kept = out.is_kept && classes[c].share() >= promised.share;
  }
  return out;
}

class Search {
 public:
  Search(ServingStudy study, const RunOptions& options, pdes::Transport& transport)
      : study_(std::move(study)), options_(options), transport_(transport) {}

  CapacityRow run(const std::string& setting, const CapacityOptions& capacity) {
    capacity_ = &capacity;
    row_.setting = setting;
    row_.devices = static_cast<double>(study_.spec.replicas) * study_.spec.stages *
                   static_cast<double>(study_.iteration ? study_.iteration->spec.tensor : 1);
    double kept = 0, broken = 0;  // rates; 0: none yet
    double rate = study_.requests.arrivals.rate;
    const double most = std::min(kRateMost, rate * kTimesMost);
    while (rate >= least_rate() && rate <= most && (kept == 0 || broken == 0)) {
      if (!tried(rate)) return row_;
      (row_.points.back().is_kept ? kept : broken) = rate;
      rate *= row_.points.back().is_kept ? 2 : 0.5;
    }
    while (kept != 0 && broken > kept * (1 + capacity.tolerance)) {
      const double middle = std::sqrt(kept * broken);
      if (!tried(middle)) return row_;
      (row_.points.back().is_kept ? kept : broken) = middle;
    }
    row_.is_bounded = broken != 0;
    return row_;
  }
  [[nodiscard]] bool is_stopped() const { return is_stopped_; }

 private:
  // Below, the last request might come after the end of time. Who waits for nobody by then is as
  // well off as at any rate.
  [[nodiscard]] double least_rate() const {
    return 16 * static_cast<double>(requests_) / core::to_seconds(core::kEndOfTime);
  }

  // False if host time ran out.
  bool tried(double rate) {
    const TimeLimit limit(options_.time_limit_s.value_or(0), options_.started);
    std::array<std::uint64_t, 1> over{limit.is_over() ? std::uint64_t{1} : 0};
    transport_.all_reduce_sum(over);  // clocks differ between ranks
    is_stopped_ = over[0] != 0;
    if (is_stopped_) return false;
    study_.requests.arrivals.rate = rate;
    const ServingReport report = simulate(study_, options_, transport_);
    is_stopped_ = report.status == RunStatus::stopped;
    if (is_stopped_) return false;
    requests_ = report.serving->spec().requests.size();
    row_.points.push_back(point_of(report, rate));
    if (row_.points.back().is_kept && rate > row_.rate())
      row_.best = static_cast<int>(row_.points.size()) - 1;
    if (capacity_->progress) capacity_->progress(row_.setting, row_.points.back());
    return true;
  }

  ServingStudy study_;
  const RunOptions& options_;
  pdes::Transport& transport_;
  const CapacityOptions* capacity_ = nullptr;
  CapacityRow row_;
  std::size_t requests_ = 0;  // of a run, once there was one
  bool is_stopped_ = false;
};

}  // namespace

CapacityReport find_capacity(const std::string& file, const std::vector<std::string>& overrides,
                             const CapacityOptions& capacity, const RunOptions& options,
                             pdes::Transport& transport) {
  std::vector<ServingStudy> studies;
  std::vector<std::string> settings;
  agree(transport, [&] {
    in_file(file, [&] {
      if (capacity.key.empty()) settings.emplace_back();
      for (const std::string& value : capacity.values)
        settings.push_back(capacity.key + "=" + value);
      for (const std::string& setting : settings) {
        std::vector<std::string> all = overrides;
        if (!setting.empty()) all.push_back(setting);
        studies.push_back(read_serving_study(file, all));
        check(studies.back());
      }
    });
  });
  CapacityReport report{
      .study = studies.front().name, .tolerance = capacity.tolerance, .rows = {}};
  for (std::size_t i = 0; i < studies.size() && !report.is_stopped; ++i) {
    Search search(std::move(studies[i]), options, transport);
    report.rows.push_back(search.run(settings[i], capacity));
    report.is_stopped = search.is_stopped();
  }
  mark_front(report.rows);
  return report;
}

}  // namespace exawarp::io
