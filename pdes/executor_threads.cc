#include <atomic>
#include <thread>
#include <vector>

#include "core/check.h"
#include "pdes/executor.h"

namespace exawarp::pdes {
namespace {

class InlineExecutor final : public Executor {
 public:
  void for_each(std::uint32_t count, const std::function<void(std::uint32_t)>& task) override {
    for (std::uint32_t i = 0; i < count; ++i) task(i);
  }
};

// Workers wait for a new round, take indices from a counter, and report when they find none.
class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(std::uint32_t threads) {
    for (std::uint32_t i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
  }
  ~ThreadExecutor() override {
    stopping_ = true;
    start_round();
  }

  void for_each(std::uint32_t count, const std::function<void(std::uint32_t)>& task) override {
    task_ = &task;
    count_ = count;
    next_.store(0, std::memory_order_relaxed);  // published by start_round()
    busy_.store(static_cast<std::uint32_t>(workers_.size()), std::memory_order_relaxed);
    start_round();
    take_indices();
    // acquire: pairs with the release in work(), so that the workers' writes are seen.
    for (std::uint32_t busy; (busy = busy_.load(std::memory_order_acquire)) != 0;)
      busy_.wait(busy, std::memory_order_acquire);
  }

 private:
  void start_round() {
    // release: pairs with the acquire in work(); publishes task_, count_ and the counters.
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }
  void take_indices() {
    // relaxed: the indices carry no data; the rounds order everything.
    for (std::uint32_t i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < count_;)
      (*task_)(i);
  }
  void work() {
    for (std::uint32_t seen = 0;;) {
      round_.wait(seen, std::memory_order_acquire);
      seen = round_.load(std::memory_order_acquire);
      if (stopping_) return;
      take_indices();
      if (busy_.fetch_sub(1, std::memory_order_release) == 1) busy_.notify_one();
    }
  }

  const std::function<void(std::uint32_t)>* task_ = nullptr;
  std::uint32_t count_ = 0;
  bool stopping_ = false;
  std::atomic<std::uint32_t> round_{0};
  std::atomic<std::uint32_t> next_{0};
  std::atomic<std::uint32_t> busy_{0};
  std::vector<std::jthread> workers_;  // last: joins before the rest is destroyed
};

}  // namespace

std::unique_ptr<Executor> make_thread_executor(std::uint32_t threads) {
  EXAWARP_CHECK(threads >= 1, threads);
  return std::make_unique<ThreadExecutor>(threads);
}

std::unique_ptr<Executor> make_executor(std::uint32_t threads,
                                        [[maybe_unused]] std::uint32_t first_core) {
  if (threads == 1) return std::make_unique<InlineExecutor>();
#ifdef EXAWARP_PLAIN_THREADS
  return make_thread_executor(threads);
#else
  return make_tbb_executor(threads, first_core);
#endif
}

}  // namespace exawarp::pdes
