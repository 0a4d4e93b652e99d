#include "pdes/thread_supply.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <system_error>
#include <vector>

#include "core/error.h"

namespace exawarp::pdes {
namespace {

// Threads that wait until they may end, so that they are all there at once.
class Trial {
 public:
  Trial(std::uint32_t threads, std::size_t stack_bytes) {
    threads_.reserve(threads);
    pthread_attr_t attributes;
    if ((code_ = pthread_attr_init(&attributes)) != 0) return;
    pthread_attr_setstacksize(&attributes, stack_bytes);
    for (pthread_t thread; threads_.size() < threads; threads_.push_back(thread)) {
      code_ = pthread_create(&thread, &attributes, &Trial::wait, &over_);
      if (code_ != 0) break;
    }
    pthread_attr_destroy(&attributes);
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial() {
    over_.store(true, std::memory_order_release);  // pairs with wait()
    over_.notify_all();
    for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
  }

  [[nodiscard]] std::uint32_t started() const {
    return static_cast<std::uint32_t>(threads_.size());
  }
  [[nodiscard]] int code() const { return code_; }  // 0: all started

 private:
  static void* wait(void* over) {
    static_cast<const std::atomic<bool>*>(over)->wait(false, std::memory_order_acquire);
    return nullptr;
  }

  std::vector<pthread_t> threads_;
  std::atomic<bool> over_{false};
  int code_ = 0;
};

// What a thread maps at once besides its stack: its share of the allocator (which ends the process
// where it gets none), and a first pool of events; with what alignment costs.
constexpr std::size_t kWorkerBytes = std::size_t{8} << 20;

// 0, or the system's error number.
int code_of_mapping(std::size_t bytes) {
  void* const memory =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return errno;
  ::munmap(memory, bytes);
  return 0;
}

}  // namespace

void require_threads(std::uint32_t threads, std::size_t stack_bytes) {
  const Trial trial(threads - 1, stack_bytes);
  if (trial.code() != 0) fail_for_threads(trial.started() + 1, threads, trial.code());
  const int code = code_of_mapping(threads * kWorkerBytes);
  if (code != 0) fail_for_threads(0, threads, code);
}

void fail_for_threads(std::uint32_t had, std::uint32_t asked, int code) {
  const std::string given =
      had == 0 ? fmt::format("no memory for {}", asked) : fmt::format("{} of {}", had, asked);
  throw core::SystemError(fmt::format(
      "threads: the system gives {}: {}; fewer --threads, or a higher limit of processes "
      "(ulimit -u, pids.max) or of memory (ulimit -v), would help",
      given, std::generic_category().message(code)));
}

}  // namespace exawarp::pdes
