#include "pdes/parallel_loop.h"

#include "pdes/spin.h"
#include "pdes/whereabouts.h"

namespace exawarp::pdes {
namespace {

// About a millisecond of looks at a counter.
constexpr std::uint32_t kLooks = 1 << 15;

}  // namespace

void ParallelLoop::await_change(const std::atomic<std::uint32_t>& counter,
                                std::uint32_t seen) const {
  for (std::uint32_t looks = watches_ ? kLooks : 0; looks != 0; --looks) {
    // acquire: what was written before the change is seen, here and below.
    if (counter.load(std::memory_order_acquire) != seen) return;
    pause_after_look(looks);
  }
  counter.wait(seen, std::memory_order_acquire);
}

void ParallelLoop::start_round() {
  // release: pairs with the acquire in work(); publishes the task and that none is done.
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
}

void ParallelLoop::run(const Task& task) {
  task_ = &task;
  done_.store(0, std::memory_order_relaxed);  // published by start_round()
  start_round();
  take_tasks(0, round_.load(std::memory_order_relaxed));
  // acquire: pairs with the release in try_task(), so that the tasks' writes are seen.
  for (std::uint32_t done; (done = done_.load(std::memory_order_acquire)) != claims_.size();)
    await_change(done_, done);
  if (failed_.load(std::memory_order_relaxed)) std::rethrow_exception(failure_);
}

void ParallelLoop::work(std::uint32_t worker) {
  note_worker(worker);
  for (std::uint32_t seen = 0;;) {
    await_change(round_, seen);
    seen = round_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_relaxed)) return;  // relaxed: published by start_round()
    take_tasks(worker, seen);
  }
}

void ParallelLoop::stop() {
  stopping_.store(true, std::memory_order_relaxed);
  start_round();
}

// Its own tasks first, then those of others, from the end, which their own workers reach last.
void ParallelLoop::take_tasks(std::uint32_t worker, std::uint32_t round) {
  for (std::uint32_t task = home(worker); task < home(worker + 1); ++task) try_task(task, round);
  for (std::uint32_t step = 1; step < workers_; ++step) {
    const std::uint32_t other = (worker + step) % workers_;
    for (std::uint32_t task = home(other + 1); task-- > home(other);) try_task(task, round);
  }
}

// A late worker finds all tasks claimed, by this round or a later one. Only a claim makes
// task_ safe to read: until the task is done the round is not over.
void ParallelLoop::try_task(std::uint32_t task, std::uint32_t round) {
  std::uint32_t before = round - 1;
  // relaxed: rounds order everything; a claim only says who runs the task.
  if (claims_[task].load(std::memory_order_relaxed) != before ||
      !claims_[task].compare_exchange_strong(before, round, std::memory_order_relaxed))
    return;
  try {
    (*task_)(task);
  } catch (...) {
    if (!failed_.exchange(true)) failure_ = std::current_exception();
  }
  // release: pairs with the acquire in run().
  if (done_.fetch_add(1, std::memory_order_release) + 1 == claims_.size()) done_.notify_one();
}

}  // namespace exawarp::pdes
