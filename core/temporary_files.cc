// The list of temporary files, guarded by a flag that is taken with signals held off. The handler
// of a signal that ends the process takes the same flag, unlinks what is listed, and ends it.
#include "core/temporary_files.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <set>

#include "core/error.h"

namespace exawarp::core {
namespace {

enum class List : int { free, held, ended };
std::atomic<List> state{List::free};
static_assert(std::atomic<List>::is_always_lock_free, "a handler uses it");

// Never destroyed: a signal may come while the program's statics go.
std::set<std::string>& paths() {
  static auto& all = *new std::set<std::string>;
  return all;
}

// Takes the list from `free` to `next`; false where the process is about to end. acquire: pairs
// with the release in ~Hold, so that all changes are seen.
bool take(List next) noexcept {
  for (;;) {
    List now = List::free;
    if (state.compare_exchange_weak(now, next, std::memory_order_acquire)) return true;
    if (now == List::ended) return false;
    sched_yield();
  }
}

class Hold {
 public:
  Hold() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
    while (!take(List::held)) pause();
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() {
    state.store(List::free, std::memory_order_release);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t before_{};
};

std::string random_name() {
  std::uint64_t word = 0;
  // A name that can be guessed does no harm, for the file must not exist: it only costs a try.
  if (getrandom(&word, sizeof word, 0) != sizeof word) word = static_cast<std::uint64_t>(getpid());
  std::array<char, 40> name{};
  std::snprintf(name.data(), name.size(), ".exawarp-%016llx.tmp",
                static_cast<unsigned long long>(word));
  return name.data();
}

}  // namespace

TemporaryFile create_temporary(const std::string& folder, const std::string& place) {
  constexpr int kTries = 8;
  int error = EEXIST;
  for (int i = 0; i < kTries && error == EEXIST; ++i) {
    TemporaryFile file{.path = folder + "/" + random_name(), .descriptor = -1};
    const Hold hold;
    const auto at = paths().insert(file.path).first;
    file.descriptor =
        ::open(file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file.descriptor >= 0) return file;
    error = errno;
    paths().erase(at);
  }
  throw SystemError(place + ": cannot write: " + system_text(error));
}

void remove_temporary(const std::string& path) noexcept {
  const Hold hold;
  if (paths().erase(path) > 0) ::unlink(path.c_str());
}

void place_temporaries(std::span<const Placing> files) {
  const Hold hold;
  for (const Placing& file : files) {
    if (::rename(file.temporary.c_str(), file.path.c_str()) != 0) {
      throw SystemError(file.path + ": cannot replace: " + system_text(errno));
    }
    paths().erase(file.temporary);
  }
}

void remove_all_temporaries() noexcept {
  if (!take(List::ended)) return;
  for (const std::string& path : paths()) ::unlink(path.c_str());
}

void end_by_signal(int number) {
  remove_all_temporaries();
  std::signal(number, SIG_DFL);
  std::raise(number);  // delivered when this handler returns
}

void remove_temporaries_on_signals() {
  paths();  // made before any handler looks
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGXCPU, SIGABRT}) {
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = end_by_signal;
    sigaction(number, &action, nullptr);
  }
}

}  // namespace exawarp::core
