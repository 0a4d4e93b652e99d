#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <atomic>

#include "core/machine.h"
#include "pdes/executor.h"

namespace exawarp::pdes {
namespace {

class TbbExecutor final : public Executor {
 public:
  TbbExecutor(std::uint32_t threads, std::uint32_t first_core)
      : limit_(tbb::global_control::max_allowed_parallelism, threads),
        arena_(static_cast<int>(threads)),
        machine_(core::discover_machine()),
        first_core_(first_core) {
    const std::uint32_t needed = first_core + threads;
    binds_ = machine_.cpus.size() >= needed && machine_.workers_max >= needed;
  }

  void for_each(std::uint32_t count, const std::function<void(std::uint32_t)>& task) override {
    arena_.execute([&] {
      const auto run = [&](std::uint32_t i) {
        if (binds_) bind_worker();
        task(i);
      };
      // The affinity partitioner sends a partition to the worker that had it last, whose cache
      // still holds its LPs; an idle worker may steal it all the same.
      tbb::parallel_for(std::uint32_t{0}, count, run, affinity_);
    });
  }

 private:
  // Binds the calling worker to the core of its slot, once. A task does it because oneTBB's own
  // hook, the task_scheduler_observer, leaks a proxy where a worker outlives its arena.
  void bind_worker() const {
    thread_local std::uint64_t bound_for = 0;
    if (bound_for == id_) return;
    bound_for = id_;
    const int slot = tbb::this_task_arena::current_thread_index();
    if (slot >= 0)
      core::bind_calling_thread(machine_, first_core_ + static_cast<std::uint32_t>(slot));
  }
  static std::uint64_t next_id() {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;  // relaxed: only uniqueness counts
  }

  tbb::global_control limit_;
  tbb::task_arena arena_;
  core::Machine machine_;
  std::uint32_t first_core_;
  bool binds_ = false;
  std::uint64_t id_ = next_id();  // an address could be another executor's again
  tbb::affinity_partitioner affinity_;
};

}  // namespace

std::unique_ptr<Executor> make_tbb_executor(std::uint32_t threads, std::uint32_t first_core) {
  return std::make_unique<TbbExecutor>(threads, first_core);
}

}  // namespace exawarp::pdes
