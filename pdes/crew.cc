#include "pdes/crew.h"

#include <thread>

#include "pdes/whereabouts.h"

namespace exawarp::pdes {
namespace {

// About a millisecond of looks at a counter.
constexpr int kLooks = 1 << 15;
constexpr int kLooksPerYield = 64;

// Between two looks. Now and then another process may have the core, if one wants it.
void pause(int look) {
  if (look % kLooksPerYield == 0) return std::this_thread::yield();
#ifdef __x86_64__
  __builtin_ia32_pause();
#endif
}

}  // namespace

void Crew::await_change(const std::atomic<std::uint32_t>& counter, std::uint32_t seen) const {
  for (int looks = watches_ ? kLooks : 0; looks != 0; --looks) {
    // acquire: what was written before the change is seen, here and below.
    if (counter.load(std::memory_order_acquire) != seen) return;
    pause(looks);
  }
  counter.wait(seen, std::memory_order_acquire);
}

void Crew::start_round() {
  // release: pairs with the acquire in work(); publishes the task and that none is done.
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
}

void Crew::run(const Task& task) {
  task_ = &task;
  done_.store(0, std::memory_order_relaxed);  // published by start_round()
  start_round();
  take_tasks(0, round_.load(std::memory_order_relaxed));
  // acquire: pairs with the release in try_task(), so that the tasks' writes are seen.
  for (std::uint32_t done; (done = done_.load(std::memory_order_acquire)) != claims_.size();)
    await_change(done_, done);
  if (failed_.load(std::memory_order_relaxed)) std::rethrow_exception(failure_);
}

void Crew::work(std::uint32_t worker) {
  note_worker(worker);
  for (std::uint32_t seen = 0;;) {
    await_change(round_, seen);
    seen = round_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_relaxed)) return;  // relaxed: published by start_round()
    take_tasks(worker, seen);
  }
}

void Crew::stop() {
  stopping_.store(true, std::memory_order_relaxed);
  start_round();
}

// Its own tasks first; then the others', from the end, where their own workers come last.
void Crew::take_tasks(std::uint32_t worker, std::uint32_t round) {
  for (std::uint32_t task = home(worker); task < home(worker + 1); ++task) try_task(task, round);
  for (std::uint32_t step = 1; step < workers_; ++step) {
    const std::uint32_t other = (worker + step) % workers_;
    for (std::uint32_t task = home(other + 1); task-- > home(other);) try_task(task, round);
  }
}

// A worker that comes late finds all claimed, by this round or a later one. Only a claim makes
// task_ safe to read: until the task is done the round is not over.
void Crew::try_task(std::uint32_t task, std::uint32_t round) {
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
