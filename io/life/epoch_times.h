// What an epoch takes on several workers, from what each of its partitions takes.
//
// An epoch is over when its slowest rank is, and a rank when its slowest worker is; then come the
// barrier and the exchange. Workers take tasks as pdes/parallel_loop.h has them: first their own,
// in order; then those of others, from the end. So how far stealing evens out an epoch is reckoned
// and not assumed.
//
// Example: partitions of 30, 10, 10 and 10 us on two threads. The first worker is busy with its
// first for 30 us; the other does its own two, then the first one's second: 30 us. The mean is 30,
// so nothing is lost to imbalance. Without stealing it would be 40.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/report/plan_report.h"
#include "pdes/rehearsal.h"

namespace exawarp::io {

// Of an epoch, beside what its partitions take.
struct EpochCosts {
  double barrier_ns = 0;         // between the threads of a rank
  double exchange_ns = 0;        // between ranks
  double exchange_event_ns = 0;  // beyond that, of each event that a rank sends to others
};

// How long the slowest of `threads` workers is busy with these tasks. Requires threads >= 1.
// Between the mean of a worker and the sum of all; never below the longest task.
std::uint64_t slowest_worker_ns(std::span<const std::uint64_t> tasks_ns, std::uint32_t threads);

// Requires that the ranks of `shape` divide the number of partitions: each has as many.
EpochTimes times_of(const pdes::RehearsedEpoch& epoch, const RunShape& shape,
                    const EpochCosts& costs);

// The rehearsal of a run that is planned, and what it would take on it and on fewer workers.
class PlannedEpochs final : public pdes::Rehearsal {
 public:
  struct Candidate {
    RunShape shape;
    EpochCosts costs;
  };
  // So much of the sample that a rate can be told from it.
  struct Stretch {
    std::uint64_t events = 0;  // committed
    double wall_ns = 0;        // that the planned run would have taken
  };

  // `candidates`: the run that is planned, then others, whose ranks divide its. Over after
  // `sample_s` of host time.
  PlannedEpochs(std::vector<Candidate> candidates, double sample_s);

  [[nodiscard]] std::uint32_t ranks() const override { return candidates_.front().shape.ranks; }
  [[nodiscard]] std::uint32_t threads() const override { return candidates_.front().shape.threads; }
  std::uint64_t lost_ns(const pdes::RehearsedEpoch& epoch) override;
  [[nodiscard]] bool is_over() const override { return host_ns_ >= sample_ns_; }

  // By candidate, of the sample.
  [[nodiscard]] std::span<const EpochTimes> times() const { return times_; }
  [[nodiscard]] std::span<const Stretch> stretches() const { return stretches_; }
  [[nodiscard]] std::uint64_t epochs() const { return epochs_; }
  // Of the epochs on the cores at hand, by the clock on the wall.
  [[nodiscard]] double host_s() const { return static_cast<double>(host_ns_) * 1e-9; }
  // What the partitions took, of processor time.
  [[nodiscard]] double busy_s() const { return static_cast<double>(busy_ns_) * 1e-9; }
  // How much of its processors the rehearsal had, 0 to 1: less where other work wanted them, too.
  [[nodiscard]] double processor_share() const;

 private:
  void end_stretch(std::uint64_t committed_events);

  std::vector<Candidate> candidates_;
  std::vector<EpochTimes> times_;
  std::vector<Stretch> stretches_;
  std::uint64_t sample_ns_;
  std::uint64_t host_ns_ = 0;
  std::uint64_t busy_ns_ = 0, serial_ns_ = 0, taken_ns_ = 0;  // of processor time
  std::uint64_t epochs_ = 0;
  std::uint64_t stretch_host_ns_ = 0;    // where the last stretch ended
  std::uint64_t stretch_events_ = 0;
  double stretch_wall_ns_ = 0;
};

}  // namespace exawarp::io
