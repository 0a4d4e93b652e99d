#include <system_error>
#include <thread>
#include <vector>

#include "core/check.h"
#include "pdes/parallel_loop.h"
#include "pdes/executor.h"
#include "pdes/thread_supply.h"

namespace exawarp::pdes {
namespace {

class InlineExecutor final : public Executor {
 public:
  explicit InlineExecutor(std::uint32_t partitions) : partitions_(partitions) {}

  void for_each(const std::function<void(std::uint32_t)>& task) override {
    for (std::uint32_t i = 0; i < partitions_; ++i) task(i);
  }

 private:
  std::uint32_t partitions_;
};

class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(const ExecutorSetup& setup)
      : loop_(setup.threads, setup.partitions, false) {
    try {
      for (std::uint32_t i = 1; i < setup.threads; ++i)
        workers_.emplace_back([this, i] { loop_.work(i); });
    } catch (const std::system_error& error) {
      loop_.stop();  // or those that did start would wait, and be waited for
      fail_for_threads(static_cast<std::uint32_t>(workers_.size()) + 1, setup.threads,
                       error.code().value());
    } catch (...) {
      loop_.stop();
      throw;
    }
  }
  ~ThreadExecutor() override { loop_.stop(); }

  void for_each(const std::function<void(std::uint32_t)>& task) override { loop_.run(task); }

 private:
  ParallelLoop loop_;
  std::vector<std::jthread> workers_;  // last: joins before the rest is destroyed
};

}  // namespace

std::unique_ptr<Executor> make_thread_executor(const ExecutorSetup& setup) {
  EXAWARP_CHECK(setup.threads >= 1, setup.threads);
  return std::make_unique<ThreadExecutor>(setup);
}

std::unique_ptr<Executor> make_executor(const ExecutorSetup& setup) {
  if (setup.threads == 1) return std::make_unique<InlineExecutor>(setup.partitions);
#ifdef EXAWARP_PLAIN_THREADS
  return make_thread_executor(setup);
#else
  return make_tbb_executor(setup);
#endif
}

}  // namespace exawarp::pdes
