#include "io/life/prediction.h"

#include <algorithm>
#include <numeric>

#include "core/check.h"

namespace exawarp::io {
namespace {

EpochTimes times(double factor, const EpochTimes& sample) {
  return {.work_ns = sample.work_ns * factor,
          .imbalance_ns = sample.imbalance_ns * factor,
          .barrier_ns = sample.barrier_ns * factor,
          .exchange_ns = sample.exchange_ns * factor};
}

// Nanoseconds of an event in the stretches, the fastest and the slowest tenth left out.
std::pair<double, double> extremes_of(std::span<const PlannedEpochs::Stretch> stretches) {
  std::vector<double> event_ns;
  for (const auto& s : stretches) event_ns.push_back(s.wall_ns / static_cast<double>(s.events));
  std::ranges::sort(event_ns);
  const std::size_t out = event_ns.size() / 10;
  return {event_ns[out], event_ns[event_ns.size() - 1 - out]};
}

void set_range(const PlanSample& sample, const PlannedEpochs& epochs, PlanReport& report) {
  report.run_low_s = report.run_high_s = report.run_s;
  if (sample.whole || epochs.stretches().empty()) return;
  const auto [fast_ns, slow_ns] = extremes_of(epochs.stretches());
  const double sample_s = epochs.times().front().wall_ns() * 1e-9;
  const double left = (times_sample(sample) - 1) * static_cast<double>(sample.events) * 1e-9;
  report.run_low_s = std::min(report.run_s, sample_s + left * fast_ns);
  report.run_high_s = std::max(report.run_s, sample_s + left * slow_ns);
}

}  // namespace

double times_sample(const PlanSample& sample) {
  if (sample.whole || sample.events == 0) return 1;
  return std::max(1.0, sample.events_in_all / static_cast<double>(sample.events));
}

std::uint64_t rank_bytes_of(const PlanSample& sample, std::uint32_t ranks) {
  EXAWARP_CHECK(ranks >= 1 && sample.partition_bytes.size() % ranks == 0, ranks,
                sample.partition_bytes.size());
  const std::span<const std::uint64_t> all(sample.partition_bytes);
  const std::size_t of_rank = all.size() / ranks;
  std::uint64_t most = 0;
  for (std::size_t first = 0; first < all.size(); first += of_rank) {
    const auto mine = all.subspan(first, of_rank);
    most = std::max(most, std::accumulate(mine.begin(), mine.end(), std::uint64_t{0}));
  }
  const std::uint64_t lps = (sample.lp_bytes + ranks - 1) / ranks;
  // Mailboxes, what states have in containers, what the allocator keeps: a share of all of it.
  const std::uint64_t counted = sample.lp_bytes + sample.directory_bytes +
                                std::accumulate(all.begin(), all.end(), std::uint64_t{0});
  const std::uint64_t other =
      (sample.grown_bytes - std::min(sample.grown_bytes, counted)) / ranks;
  const std::uint64_t engine = lps + sample.directory_bytes + most + other;
  return std::max(sample.peak_bytes, sample.resident_bytes + engine) + (ranks > 1 ? kMpiBytes : 0);
}

std::vector<RunShape> smaller_shapes(const RunShape& most) {
  std::vector<RunShape> out;
  for (std::uint32_t ranks = most.ranks;; ranks = ranks % 2 == 0 ? ranks / 2 : 1) {
    for (std::uint32_t threads = most.threads; threads >= 1; threads /= 2) {
      out.push_back({ranks, threads});
    }
    if (ranks == 1) break;
  }
  std::ranges::reverse(out);
  return out;
}

RunShape advised_shape(std::span<const PlannedShape> choices) {
  EXAWARP_CHECK(!choices.empty(), choices.size());
  const double fastest_s = std::ranges::min_element(choices, {}, &PlannedShape::run_s)->run_s;
  const PlannedShape* advised = nullptr;
  for (const PlannedShape& choice : choices) {
    if (choice.run_s > fastest_s * (1 + kWorthwhile)) continue;
    const bool better = advised == nullptr ||
                        choice.shape.workers() < advised->shape.workers() ||
                        (choice.shape.workers() == advised->shape.workers() &&
                         choice.run_s < advised->run_s);
    if (better) advised = &choice;
  }
  return advised->shape;
}

PlanLimit limit_of(const EpochTimes& times) {
  const std::pair<double, PlanLimit> all[] = {{times.work_ns, PlanLimit::work},
                                              {times.imbalance_ns, PlanLimit::imbalance},
                                              {times.barrier_ns, PlanLimit::barriers},
                                              {times.exchange_ns, PlanLimit::exchange}};
  return std::ranges::max_element(all, {}, [](const auto& of) { return of.first; })->second;
}

void predict(const PlanSample& sample, const PlannedEpochs& epochs,
             std::span<const RunShape> shapes, PlanReport& report) {
  EXAWARP_CHECK(shapes.size() == epochs.times().size(), shapes.size(), epochs.times().size());
  const double factor = times_sample(sample);
  report.sample_s = epochs.host_s();
  report.sample_events = sample.events;
  report.whole = sample.whole;
  report.events = static_cast<std::uint64_t>(factor * static_cast<double>(sample.events));
  report.epochs = epochs.epochs();
  report.undone = sample.processed == 0 ? 0
                                        : static_cast<double>(sample.undone) /
                                              static_cast<double>(sample.processed);
  report.setup_s = sample.prepared_s + sample.constructed_s / report.shape.ranks;
  report.times = times(factor, epochs.times().front());
  report.run_s = report.times.wall_ns() * 1e-9;
  set_range(sample, epochs, report);
  report.rank_bytes = rank_bytes_of(sample, report.shape.ranks);
  if (sample.events != 0) {
    report.costs.event_ns = epochs.busy_s() * 1e9 / static_cast<double>(sample.events);
  }
  report.choices.clear();
  for (std::size_t i = shapes.size(); i-- > 0;) {
    report.choices.push_back({shapes[i], factor * epochs.times()[i].wall_ns() * 1e-9});
  }
  report.advised = advised_shape(report.choices);
  report.limit = limit_of(report.times);
}

}  // namespace exawarp::io
