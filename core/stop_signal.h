// Signals that ask for an end in good order: SIGINT, SIGTERM and SIGUSR1, which batch systems send
// before the time is over. The first one only asks; a second ends the process at once.
// Thread safety: any thread.
#pragma once

#include <csignal>
#include <initializer_list>
#include <string>
#include <vector>

namespace exawarp::core {

// As long as it lives, these signals ask; before and after, they end the process. Leaves alone what
// is ignored. Where several live, in one another or side by side, the last one to end counts, and
// each knows what any of them was asked.
class StopOnSignals {
 public:
  explicit StopOnSignals(std::initializer_list<int> signals = {SIGINT, SIGTERM, SIGUSR1});
  ~StopOnSignals();
  StopOnSignals(const StopOnSignals&) = delete;
  StopOnSignals& operator=(const StopOnSignals&) = delete;

 private:
  std::vector<int> signals_;
};

// The signal that asked since there was no StopOnSignals, or 0.
[[nodiscard]] int stop_signal() noexcept;
[[nodiscard]] inline bool stop_asked() noexcept { return stop_signal() != 0; }

// "SIGTERM".
[[nodiscard]] std::string signal_name(int number);

}  // namespace exawarp::core
