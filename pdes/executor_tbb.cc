// oneTBB's workers as the workers of a ParallelLoop: started once and bound to cores. A worker that
// cannot start ends the process with a line, since nobody can catch what is thrown there.
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>

#include "core/error.h"
#include "core/machine.h"
#include "pdes/parallel_loop.h"
#include "pdes/executor.h"
#include "pdes/thread_supply.h"

namespace exawarp::pdes {
namespace {

bool has_cores_for(const core::Machine& machine, const ExecutorSetup& setup) {
  const std::uint32_t needed = setup.first_core + setup.threads;
  return machine.cpus.size() >= needed && machine.workers_max >= needed;
}

[[noreturn]] void end_without_worker(const char* reason) {
  std::fprintf(stderr, "threads: a worker cannot start: %s; fewer --threads would help\n", reason);
  std::_Exit(core::kSystemErrorExitCode);
}

// oneTBB's workers start each other, also behind the end of an executor, and nobody can catch what
// is thrown there. require_threads() has seen them all start; what is left is memory for their own
// records, and other processes that took threads in between.
void explain_workers_that_cannot_start() {
  static std::terminate_handler before = nullptr;
  static const bool once = [] {
    before = std::set_terminate([] {
      try {
        if (const auto error = std::current_exception()) std::rethrow_exception(error);
      } catch (const std::bad_alloc&) {
        end_without_worker("no memory is left");
      } catch (const std::runtime_error& error) {
        if (std::string_view(error.what()).starts_with("pthread_create"))
          end_without_worker(error.what());
      } catch (...) {  // not the start of a worker
      }
      before();
      std::abort();
    });
    return true;
  }();
  static_cast<void>(once);
}

// Each of oneTBB's workers runs one task for as long as the executor lives: its part in the loop.
// The loop does without workers that oneTBB cannot send because other executors hold them.
class TbbExecutor final : public Executor {
 public:
  explicit TbbExecutor(const ExecutorSetup& setup)
      : machine_(core::discover_machine()),
        first_core_(setup.first_core),
        binds_(has_cores_for(machine_, setup)),
        loop_(setup.threads, setup.partitions, binds_),
        limit_(tbb::global_control::max_allowed_parallelism, setup.threads),
        arena_(static_cast<int>(setup.threads)) {
    arena_.initialize();  // separately: one that failed would hang when it is used again
    try {
      start(setup.threads);
    } catch (const std::exception& error) {
      end();  // or parts_ would wait for tasks that nobody takes
      throw core::SystemError(std::string("threads: a worker cannot start: ") + error.what() +
                              "; fewer --threads would help");
    }
    bind(0);
  }
  ~TbbExecutor() noexcept override { end(); }

  void for_each(const std::function<void(std::uint32_t)>& task) override { loop_.run(task); }

 private:
  void start(std::uint32_t threads) {
    arena_.execute([&] {
      for (std::uint32_t i = 1; i < threads; ++i) {
        parts_.run([this, i] {
          bind(i);
          loop_.work(i);
        });
      }
    });
  }
  void end() noexcept {
    loop_.stop();
    arena_.execute([this] { parts_.wait(); });
  }
  void bind(std::uint32_t worker) const {
    if (binds_) core::bind_calling_thread(machine_, first_core_ + worker);
  }

  core::Machine machine_;
  std::uint32_t first_core_;
  bool binds_;
  ParallelLoop loop_;
  tbb::global_control limit_;
  tbb::task_arena arena_;
  tbb::task_group parts_;
};

}  // namespace

std::unique_ptr<Executor> make_tbb_executor(const ExecutorSetup& setup) {
  explain_workers_that_cannot_start();
  require_threads(setup.threads,
                  tbb::global_control::active_value(tbb::global_control::thread_stack_size));
  return std::make_unique<TbbExecutor>(setup);
}

}  // namespace exawarp::pdes
