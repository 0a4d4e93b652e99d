// How far beyond GVT partitions may run in the next epoch.
//
// Conservative: the lookahead, always. Optimistic: the window follows two measurements of the
// epoch before, over all ranks: the share of executions that were undone, and the number of
// events executed. Much waste halves the window; otherwise it is steered towards epochs of a
// fixed number of events, long enough to hide the cost of an epoch (two barriers and a GVT round,
// some 10 us) and short enough for the history to stay in cache.
// Invariant: every rank computes the same window, from the same votes. It never affects results.
#pragma once

#include <cstdint>

#include "core/time.h"

namespace exawarp::pdes {

struct WindowSetup {
  core::Time lookahead;
  core::Time fixed{0};           // 0: adapt
  bool conservative = false;
  std::uint32_t partitions = 1;  // over all ranks
};

class Window {
 public:
  explicit Window(const WindowSetup& setup);

  [[nodiscard]] core::Time span() const { return span_; }
  // Events a partition executes in one epoch at most.
  [[nodiscard]] std::uint64_t event_limit() const { return event_limit_; }
  // Totals over all ranks since the start of the run; once an epoch.
  void update(std::uint64_t processed, std::uint64_t rolled_back);

 private:
  WindowSetup setup_;
  core::Time span_;
  std::uint64_t event_limit_;
  std::uint64_t processed_ = 0;
  std::uint64_t rolled_back_ = 0;
};

}  // namespace exawarp::pdes
