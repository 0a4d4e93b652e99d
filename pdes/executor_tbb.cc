#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "core/machine.h"
#include "pdes/crew.h"
#include "pdes/executor.h"

namespace exawarp::pdes {
namespace {

bool has_cores_for(const core::Machine& machine, const ExecutorSetup& setup) {
  const std::uint32_t needed = setup.first_core + setup.threads;
  return machine.cpus.size() >= needed && machine.workers_max >= needed;
}

// Each of oneTBB's workers runs one task as long as the executor lives: its part in the crew. The
// crew does without those that oneTBB does not send, because other executors have them.
class TbbExecutor final : public Executor {
 public:
  explicit TbbExecutor(const ExecutorSetup& setup)
      : machine_(core::discover_machine()),
        first_core_(setup.first_core),
        binds_(has_cores_for(machine_, setup)),
        crew_(setup.threads, setup.partitions, binds_),
        limit_(tbb::global_control::max_allowed_parallelism, setup.threads),
        arena_(static_cast<int>(setup.threads)) {
    arena_.execute([&] {
      for (std::uint32_t i = 1; i < setup.threads; ++i) {
        parts_.run([this, i] {
          bind(i);
          crew_.work(i);
        });
      }
    });
    bind(0);
  }
  ~TbbExecutor() noexcept override {
    crew_.stop();
    arena_.execute([this] { parts_.wait(); });
  }

  void for_each(const std::function<void(std::uint32_t)>& task) override { crew_.run(task); }

 private:
  void bind(std::uint32_t worker) const {
    if (binds_) core::bind_calling_thread(machine_, first_core_ + worker);
  }

  core::Machine machine_;
  std::uint32_t first_core_;
  bool binds_;
  Crew crew_;
  tbb::global_control limit_;
  tbb::task_arena arena_;
  tbb::task_group parts_;
};

}  // namespace

std::unique_ptr<Executor> make_tbb_executor(const ExecutorSetup& setup) {
  return std::make_unique<TbbExecutor>(setup);
}

}  // namespace exawarp::pdes
