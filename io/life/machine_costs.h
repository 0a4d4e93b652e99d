// What it costs the workers of this machine to meet: measured in place, with the engine's own
// executor and exchange. Nothing is simulated, and nothing depends on a study.
#pragma once

#include <cstdint>

#include "io/life/epoch_times.h"

namespace exawarp::io {

// In ns of wall time, on a quiet machine. What takes more threads than there are cores to run them
// on is not measured, but reckoned to grow with their number.
class MachineCosts {
 public:
  // Takes a few hundredths of a second. `most`: no run that is asked about has more.
  explicit MachineCosts(const RunShape& most);

  // Where ranks are spread evenly over `hosts`; between these a message and its answer take
  // `round_trip_s`.
  [[nodiscard]] EpochCosts of(const RunShape& shape, std::uint32_t hosts,
                              double round_trip_s) const;
  // Threads that a barrier, ranks that an exchange was measured with; 1: neither was.
  [[nodiscard]] std::uint32_t measured_threads() const { return threads_; }
  [[nodiscard]] std::uint32_t measured_ranks() const { return ranks_; }

 private:
  std::uint32_t threads_ = 1, ranks_ = 1;
  double barrier_ns_, exchange_ns_, exchange_event_ns_;
};

// Rounds, each of a hop to every host and back: as of a sum that doubles its reach.
std::uint32_t rounds_between(std::uint32_t hosts);

}  // namespace exawarp::io
