// One parallel loop over the tasks of a rank, run again in every epoch by the same workers.
//
// Idea: an epoch takes some hundred microseconds and often much less, and a thread that fell asleep
// takes about as long to wake. So a waiting worker watches a counter for about a millisecond before
// it sleeps. Each task has a home, the same worker in every round, whose cache still holds what the
// task needs; a worker that has finished its own tasks takes those of others. A round waits only
// for tasks that have begun, so it ends even if no worker but the owner ever comes.
//
// Owner:     worker 0, which calls run() and stop(); the others call work().
// Invariant: a task's claim is the last round in which it began.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

namespace exawarp::pdes {

class ParallelLoop {
 public:
  using Task = std::function<void(std::uint32_t)>;

  // `watches`: whether each worker has a core to itself, so that watching takes it from nobody.
  // Requires workers >= 1.
  ParallelLoop(std::uint32_t workers, std::uint32_t tasks, bool watches)
      : workers_(workers), watches_(watches), claims_(tasks) {}

  // Calls task(i) once for each i below the number of tasks; what they wrote is visible on return.
  // If tasks throw, the others still run, and one of the exceptions is rethrown.
  void run(const Task& task);
  // Takes part as worker `worker`, in 1 to workers - 1, until stop().
  void work(std::uint32_t worker);
  // The others return from work(). No run() after this.
  void stop();

 private:
  void start_round();
  void take_tasks(std::uint32_t worker, std::uint32_t round);
  void try_task(std::uint32_t task, std::uint32_t round);
  // The first of the worker's own tasks; for `workers_`, the number of tasks.
  [[nodiscard]] std::uint32_t home(std::uint32_t worker) const {
    return static_cast<std::uint32_t>(claims_.size() * worker / workers_);
  }
  // Until `counter` is not `seen`.
  void await_change(const std::atomic<std::uint32_t>& counter, std::uint32_t seen) const;

  const std::uint32_t workers_;
  const bool watches_;
  const Task* task_ = nullptr;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;  // by the worker that set failed_
  std::vector<std::atomic<std::uint32_t>> claims_;
  alignas(64) std::atomic<std::uint32_t> round_{0};  // what waiting workers watch
  alignas(64) std::atomic<std::uint32_t> done_{0};   // tasks of this round that are over
};

}  // namespace exawarp::pdes
