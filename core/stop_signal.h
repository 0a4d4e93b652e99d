// Signals that ask for an end in good order: SIGINT, SIGTERM and SIGUSR1, which batch systems send
// before the time is over. The first one only asks; a second ends the process at once.
// Thread safety: any thread.
#pragma once

#include <array>
#include <csignal>
#include <string>

namespace exawarp::core {

// As long as it lives, signals ask; before and after, they end the process. Leaves alone what is
// ignored. One at a time.
class StopOnSignals {
 public:
  StopOnSignals();
  ~StopOnSignals();
  StopOnSignals(const StopOnSignals&) = delete;
  StopOnSignals& operator=(const StopOnSignals&) = delete;

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGUSR1};
  std::array<struct sigaction, kSignals.size()> before_{};
};

// The signal that asked since the newest StopOnSignals was made, or 0.
[[nodiscard]] int stop_signal() noexcept;
[[nodiscard]] inline bool stop_asked() noexcept { return stop_signal() != 0; }

// "SIGTERM".
[[nodiscard]] std::string signal_name(int number);

}  // namespace exawarp::core
