#include "io/life/epoch_times.h"

#include <algorithm>
#include <numeric>

#include "core/check.h"

namespace exawarp::io {
namespace {

constexpr std::uint64_t kStretches = 32;  // of a sample

// What is left of a worker's own tasks: [front, back).
struct OwnTasks {
  std::size_t front, back;
  [[nodiscard]] bool empty() const { return front == back; }
};

// Requires that some worker has a task left.
std::size_t next_task(std::vector<OwnTasks>& own, std::size_t worker) {
  if (!own[worker].empty()) return own[worker].front++;
  for (std::size_t other = worker + 1;; ++other) {
    OwnTasks& of_other = own[other % own.size()];
    if (!of_other.empty()) return --of_other.back;
  }
}

}  // namespace

std::uint64_t slowest_worker_ns(std::span<const std::uint64_t> tasks_ns, std::uint32_t threads) {
  EXAWARP_CHECK(threads >= 1, threads);
  if (threads == 1) return std::accumulate(tasks_ns.begin(), tasks_ns.end(), std::uint64_t{0});
  if (threads >= tasks_ns.size()) return tasks_ns.empty() ? 0 : *std::ranges::max_element(tasks_ns);
  std::vector<OwnTasks> own;
  for (std::size_t w = 0; w < threads; ++w) {
    own.push_back({tasks_ns.size() * w / threads, tasks_ns.size() * (w + 1) / threads});
  }
  std::vector<std::uint64_t> busy_ns(threads);
  for (std::size_t left = tasks_ns.size(); left > 0; --left) {
    const auto first_free = std::ranges::min_element(busy_ns);
    *first_free += tasks_ns[next_task(own, static_cast<std::size_t>(first_free - busy_ns.begin()))];
  }
  return *std::ranges::max_element(busy_ns);
}

EpochTimes times_of(const pdes::RehearsedEpoch& epoch, const RunShape& shape,
                    const EpochCosts& costs) {
  const std::size_t partitions = epoch.busy_ns.size();
  EXAWARP_CHECK(partitions % shape.ranks == 0, partitions, shape.ranks);
  const std::size_t of_rank = partitions / shape.ranks;
  std::uint64_t all_ns = 0, slowest_ns = 0, most_sent = 0;
  for (std::size_t first = 0; first < partitions; first += of_rank) {
    const auto tasks = epoch.busy_ns.subspan(first, of_rank);
    const auto sent = epoch.departures.subspan(first, of_rank);
    slowest_ns = std::max(slowest_ns, slowest_worker_ns(tasks, shape.threads));
    all_ns = std::accumulate(tasks.begin(), tasks.end(), all_ns);
    most_sent = std::max(most_sent, std::accumulate(sent.begin(), sent.end(), std::uint64_t{0}));
  }
  EpochTimes out;
  out.work_ns = static_cast<double>(all_ns) / shape.workers();
  out.imbalance_ns = static_cast<double>(slowest_ns) - out.work_ns;
  out.barrier_ns = costs.barrier_ns + static_cast<double>(epoch.serial_ns);
  if (shape.ranks > 1) {
    out.exchange_ns =
        costs.exchange_ns + costs.exchange_event_ns * static_cast<double>(most_sent);
  }
  return out;
}

PlannedEpochs::PlannedEpochs(std::vector<Candidate> candidates, double sample_s)
    : candidates_(std::move(candidates)),
      times_(candidates_.size()),
      sample_ns_(static_cast<std::uint64_t>(sample_s * 1e9)) {
  EXAWARP_CHECK(!candidates_.empty(), candidates_.size());
}

std::uint64_t PlannedEpochs::lost_ns(const pdes::RehearsedEpoch& epoch) {
  ++epochs_;
  host_ns_ += epoch.host_ns;
  serial_ns_ += epoch.serial_ns;
  taken_ns_ += epoch.taken_ns;
  double planned_wall_ns = 0;
  for (std::size_t c = 0; c < candidates_.size(); ++c) {
    const EpochTimes times = times_of(epoch, candidates_[c].shape, candidates_[c].costs);
    if (c == 0) planned_wall_ns = times.wall_ns();
    times_[c].work_ns += times.work_ns;
    times_[c].imbalance_ns += times.imbalance_ns;
    times_[c].barrier_ns += times.barrier_ns;
    times_[c].exchange_ns += times.exchange_ns;
  }
  const std::uint64_t busy_ns =
      std::accumulate(epoch.busy_ns.begin(), epoch.busy_ns.end(), std::uint64_t{0});
  busy_ns_ += busy_ns;
  if (host_ns_ - stretch_host_ns_ >= sample_ns_ / kStretches) end_stretch(epoch.committed_events);
  const auto whole_ns =
      static_cast<std::uint64_t>(planned_wall_ns * candidates_.front().shape.workers());
  return whole_ns - std::min(whole_ns, busy_ns);
}

void PlannedEpochs::end_stretch(std::uint64_t committed_events) {
  const double wall_ns = times_.front().wall_ns();
  // Rollbacks may undo more than was executed.
  if (committed_events > stretch_events_) {
    stretches_.push_back({committed_events - stretch_events_, wall_ns - stretch_wall_ns_});
    stretch_events_ = committed_events;
    stretch_wall_ns_ = wall_ns;
  }
  stretch_host_ns_ = host_ns_;
}

double PlannedEpochs::processor_share() const {
  const std::uint64_t own_ns = busy_ns_ + serial_ns_, all_ns = own_ns + taken_ns_;
  return all_ns == 0 ? 1 : static_cast<double>(own_ns) / static_cast<double>(all_ns);
}

}  // namespace exawarp::io
