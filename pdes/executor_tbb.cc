#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>

#include "core/machine.h"
#include "pdes/executor.h"

namespace exawarp::pdes {
namespace {

// Binds each worker that enters the arena to the core of its slot.
class Binder final : public tbb::task_scheduler_observer {
 public:
  Binder(tbb::task_arena& arena, core::Machine machine, std::uint32_t first_core)
      : tbb::task_scheduler_observer(arena),
        machine_(std::move(machine)),
        first_core_(first_core) {
    observe(true);
  }
  ~Binder() override { observe(false); }
  void on_scheduler_entry(bool) override {
    const int slot = tbb::this_task_arena::current_thread_index();
    if (slot < 0) return;
    core::bind_calling_thread(machine_, first_core_ + static_cast<std::uint32_t>(slot));
  }

 private:
  core::Machine machine_;
  std::uint32_t first_core_;
};

class TbbExecutor final : public Executor {
 public:
  TbbExecutor(std::uint32_t threads, std::uint32_t first_core)
      : limit_(tbb::global_control::max_allowed_parallelism, threads),
        arena_(static_cast<int>(threads)) {
    core::Machine machine = core::discover_machine();
    const std::uint32_t needed = first_core + threads;
    if (machine.cpus.size() >= needed && machine.workers_max >= needed)
      binder_ = std::make_unique<Binder>(arena_, std::move(machine), first_core);
  }

  void for_each(std::uint32_t count, const std::function<void(std::uint32_t)>& task) override {
    arena_.execute([&] {
      // The affinity partitioner sends a partition to the worker that had it last, whose cache
      // still holds its LPs; an idle worker may steal it all the same.
      tbb::parallel_for(std::uint32_t{0}, count, [&](std::uint32_t i) { task(i); }, affinity_);
    });
  }

 private:
  tbb::global_control limit_;
  tbb::task_arena arena_;
  std::unique_ptr<Binder> binder_;
  tbb::affinity_partitioner affinity_;
};

}  // namespace

std::unique_ptr<Executor> make_tbb_executor(std::uint32_t threads, std::uint32_t first_core) {
  return std::make_unique<TbbExecutor>(threads, first_core);
}

}  // namespace exawarp::pdes
