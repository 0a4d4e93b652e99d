// From a sampled piece of a run to all of it: arithmetic only. What is measured, and how, is in
// planning.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/life/epoch_times.h"
#include "io/report/plan_report.h"

namespace exawarp::io {

// A run is advised that is at most so much slower than the fastest one, and has the fewest workers.
constexpr double kWorthwhile = 0.10;
// What an MPI library adds to a rank: Open MPI 4.1.4, two ranks with next to no LPs (49.7 and
// 24.4 MB with it and without).
constexpr std::uint64_t kMpiBytes = 25 << 20;

// What was simulated here, in one process, of a run of several ranks.
struct PlanSample {
  double prepared_s = 0;     // until everything was placed; each rank does the same
  double constructed_s = 0;  // then, until the first event; ranks share it
  std::uint64_t events = 0;  // committed
  std::uint64_t processed = 0, undone = 0;
  double events_in_all = 0;  // of the whole run, as far as is known; 0: not
  bool whole = false;        // the run was over within the sample
  std::uint64_t peak_bytes = 0;      // of the process, until everything was placed
  std::uint64_t resident_bytes = 0;  // at that moment
  std::uint64_t grown_bytes = 0;     // from then on, at the peak
  std::uint64_t lp_bytes = 0;        // of all ranks
  std::uint64_t directory_bytes = 0;  // of each rank
  std::vector<std::uint64_t> partition_bytes = {};  // events and histories, by partition
};

// How many times the sample's events the whole run has; 1 where nothing more is known.
double times_sample(const PlanSample& sample);

// At the peak, of the rank with most.
std::uint64_t rank_bytes_of(const PlanSample& sample, std::uint32_t ranks);

// Halves of both, down to one rank of one thread; ranks only as long as they divide. The last is
// `most`.
std::vector<RunShape> smaller_shapes(const RunShape& most);

// Of those, the one with the fewest workers that is at most kWorthwhile slower than the fastest.
// Requires at least one.
RunShape advised_shape(std::span<const PlannedShape> choices);

PlanLimit limit_of(const EpochTimes& times);

// Sets what follows from the sample: times, memory, choices, advice. `shapes`: of
// `epochs.times()`; the first is report.shape.
void predict(const PlanSample& sample, const PlannedEpochs& epochs,
             std::span<const RunShape> shapes, PlanReport& report);

}  // namespace exawarp::io
