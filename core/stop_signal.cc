#include "core/stop_signal.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <map>
#include <mutex>

#include "core/temporary_files.h"

namespace exawarp::core {
namespace {

std::atomic<int> asked{0};
static_assert(std::atomic<int>::is_always_lock_free, "a handler uses it");

// What becomes of a signal again when nobody counts it as a question any more.
struct Counted {
  int users = 0;
  struct sigaction before {};
};
std::mutex counting;
std::map<int, Counted> counted;  // by signal; those with users alone

extern "C" void ask_to_stop(int number) {
  int none = 0;
  if (!asked.compare_exchange_strong(none, number)) end_by_signal(number);
}

}  // namespace

StopOnSignals::StopOnSignals(std::initializer_list<int> signals) {
  const std::lock_guard lock(counting);
  if (counted.empty()) asked = 0;
  for (const int signal : signals) {
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    if (now.sa_handler == SIG_IGN) continue;
    signals_.push_back(signal);
    Counted& entry = counted[signal];
    if (entry.users++ != 0) continue;
    entry.before = now;
    struct sigaction action {};
    action.sa_handler = ask_to_stop;
    action.sa_flags = SA_RESTART;  // nobody who writes or waits is to notice
    sigaction(signal, &action, nullptr);
  }
}

StopOnSignals::~StopOnSignals() {
  const std::lock_guard lock(counting);
  for (const int signal : signals_) {
    const auto entry = counted.find(signal);
    if (--entry->second.users != 0) continue;
    sigaction(signal, &entry->second.before, nullptr);
    counted.erase(entry);
  }
}

int stop_signal() noexcept { return asked.load(std::memory_order_relaxed); }

std::string signal_name(int number) {
  const char* const name = sigabbrev_np(number);
  return name == nullptr ? "signal " + std::to_string(number) : std::string("SIG") + name;
}

}  // namespace exawarp::core
