// Signals that ask for an end in good order: SIGINT, SIGTERM and SIGUSR1, which batch systems send
// before the time is over. The first one only asks; a second ends the process at once.
// Thread safety: the functions from any thread; StopOnSignals from one, the main thread, say.
#pragma once

#include <csignal>
#include <initializer_list>
#include <string>
#include <vector>

namespace exawarp::core {

// As long as it lives, these signals ask; before and after, they end the process. Leaves alone what
// is ignored. One may live within another, and then knows what that was asked.
class StopOnSignals {
 public:
  explicit StopOnSignals(std::initializer_list<int> signals = {SIGINT, SIGTERM, SIGUSR1});
  ~StopOnSignals();
  StopOnSignals(const StopOnSignals&) = delete;
  StopOnSignals& operator=(const StopOnSignals&) = delete;

 private:
  struct Before {
    int signal;
    struct sigaction action;
  };
  std::vector<Before> before_;
};

// The signal that asked since the outermost StopOnSignals was made, or 0.
[[nodiscard]] int stop_signal() noexcept;
[[nodiscard]] inline bool stop_asked() noexcept { return stop_signal() != 0; }

// "SIGTERM".
[[nodiscard]] std::string signal_name(int number);

}  // namespace exawarp::core
