// Signals that ask for an end in good order: SIGINT, SIGTERM and SIGUSR1, which batch systems send
// before the time is over. The first one only asks; a second ends the process at once.
// Thread safety: any thread.
#pragma once

#include <string>

namespace exawarp::core {

// From here on. Leaves alone what is ignored. Call again at will.
void stop_on_signals();

// The signal that asked, or 0.
[[nodiscard]] int stop_signal() noexcept;
[[nodiscard]] inline bool stop_asked() noexcept { return stop_signal() != 0; }

// "SIGTERM".
[[nodiscard]] std::string signal_name(int number);

}  // namespace exawarp::core
