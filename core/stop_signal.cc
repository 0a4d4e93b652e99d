#include "core/stop_signal.h"

#include <atomic>
#include <csignal>
#include <cstring>

#include "core/temporary_files.h"

namespace exawarp::core {
namespace {

std::atomic<int> asked{0};
int alive = 0;  // of StopOnSignals
static_assert(std::atomic<int>::is_always_lock_free, "a handler uses it");

extern "C" void ask_to_stop(int number) {
  int none = 0;
  if (!asked.compare_exchange_strong(none, number)) end_by_signal(number);
}

}  // namespace

StopOnSignals::StopOnSignals(std::initializer_list<int> signals) {
  if (alive++ == 0) asked = 0;
  for (const int signal : signals) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;
    before_.push_back({signal, action});
    action = {};
    action.sa_handler = ask_to_stop;
    action.sa_flags = SA_RESTART;  // nobody who writes or waits is to notice
    sigaction(signal, &action, nullptr);
  }
}

StopOnSignals::~StopOnSignals() {
  for (const Before& before : before_) sigaction(before.signal, &before.action, nullptr);
  --alive;
}

int stop_signal() noexcept { return asked.load(std::memory_order_relaxed); }

std::string signal_name(int number) {
  const char* const name = sigabbrev_np(number);
  return name == nullptr ? "signal " + std::to_string(number) : std::string("SIG") + name;
}

}  // namespace exawarp::core
