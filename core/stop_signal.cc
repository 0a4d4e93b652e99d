#include "core/stop_signal.h"

#include <atomic>
#include <csignal>
#include <cstring>

#include "core/temporary_files.h"

namespace exawarp::core {
namespace {

std::atomic<int> asked{0};
static_assert(std::atomic<int>::is_always_lock_free, "a handler uses it");

extern "C" void ask_to_stop(int number) {
  int none = 0;
  if (!asked.compare_exchange_strong(none, number)) end_by_signal(number);
}

}  // namespace

StopOnSignals::StopOnSignals() {
  asked = 0;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = ask_to_stop;
    action.sa_flags = SA_RESTART;  // nobody who writes or waits is to notice
    sigaction(kSignals[i], &action, nullptr);
  }
}

StopOnSignals::~StopOnSignals() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

int stop_signal() noexcept { return asked.load(std::memory_order_relaxed); }

std::string signal_name(int number) {
  const char* const name = sigabbrev_np(number);
  return name == nullptr ? "signal " + std::to_string(number) : std::string("SIG") + name;
}

}  // namespace exawarp::core
