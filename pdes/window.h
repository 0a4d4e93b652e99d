// How far beyond GVT partitions may run in the next epoch.
//
// Conservative: the lookahead, always. Optimistic: the window balances two losses, both measured
// over all ranks. A short window pays for epochs (barriers, GVT, waiting workers); a long one pays
// for executions that are undone. It grows while the first outweighs the second, shrinks in the
// other case, and stays where they are about equal, which is near the least of their sum. Epochs
// are also kept short enough for a partition's history to stay in cache, or, while more than a
// fifth of the workers' time is lost, up to eight times as long: then cache misses cost less than
// epochs do. While more than half of it is lost, as it is between machines, they grow further.
// Where the lookahead alone has events enough for an epoch, it is the window: then nothing is ever
// undone, and no history is kept (partition.cc).
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
  std::uint32_t workers = 1;     // the same
  bool among_ranks = false;      // there are several
};

// Over all ranks, since the start of the run.
struct WindowTotals {
  std::uint64_t processed = 0;
  std::uint64_t rolled_back = 0;
  std::uint64_t busy_ns = 0;  // workers' time in partitions
  std::uint64_t lost_ns = 0;  // and outside: waiting at barriers, GVT
};

class Window {
 public:
  explicit Window(const WindowSetup& setup);

  [[nodiscard]] core::Time span() const { return span_; }
  // Events a partition executes in one epoch at most.
  [[nodiscard]] std::uint64_t event_limit() const { return event_limit_; }
  // Once an epoch.
  void update(const WindowTotals& totals);

 private:
  void aim_at(std::uint64_t busy_ns, std::uint64_t lost_ns);
  [[nodiscard]] bool lookahead_is_enough(std::uint64_t executed) const;

  WindowSetup setup_;
  core::Time span_;
  std::uint64_t aim_;  // events of a partition in an epoch
  std::uint64_t event_limit_;
  WindowTotals before_;
};

}  // namespace exawarp::pdes
