// Runs a sweep: its pending points, several at a time, each simulated in a process of its own.
//
//   SweepDatabase database("layouts.db", sweep);
//   const bool complete = run_sweep(sweep, database, {.jobs = 8});
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>

#include "io/life/sweep_database.h"
#include "io/study/sweep.h"

namespace exawarp::io {

struct SweepProgress {
  std::int64_t done = 0, failed = 0;           // points of the database
  std::int64_t all = 0;                        // these, and those that are still to end
  std::int64_t ended_here = 0;                 // of this run: its rate is theirs
  std::int64_t running = 0;
  double elapsed_s = 0;  // of this run
};

struct SweepOptions {
  std::uint32_t jobs = 1;                   // points at a time
  std::uint32_t threads = 1;                // of each
  std::optional<double> time_limit_s = {};  // of each, host time; it fails where it is over
  std::int64_t last = std::numeric_limits<std::int64_t>::max();  // the point to stop behind
  std::function<void(const SweepProgress&)> progress = {};  // several times a second
};

// False: a signal asked to stop (core/stop_signal.h) before all these had ended; those that were
// running are pending again. Throws core::SystemError. Requires: no other thread, as ChildProcess.
bool run_sweep(const Sweep& sweep, SweepDatabase& database, const SweepOptions& options);

}  // namespace exawarp::io
