// A run on the cores at hand that goes through the epochs of a larger one.
//
// Idea: within an epoch partitions know nothing of each other (what they send is read in the next
// one), so a few cores that run the partitions of many ranks and threads execute, undo and send
// just what these would, as long as their window is theirs. The window follows from what workers
// lose by waiting. So whoever rehearses is told after each epoch what every partition took, and
// answers what the workers of the larger run would have lost meanwhile.
//
// Example: a run of two threads is rehearsed on one core; of an epoch's partitions one takes 30 us
// and one 10. The threads would have waited 20 us, and the time of a barrier. One core waits for
// nobody, and would choose a short window.
//
// Nothing of it affects results. Used by `exawarp plan` (io/life/planning.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace exawarp::pdes {

class Executor;
class Partition;

// What an epoch took on the cores at hand. Spans are valid during the call.
struct RehearsedEpoch {
  // By partition: taking in, collecting, executing, as long as it had its core.
  std::span<const std::uint64_t> busy_ns;
  std::span<const std::uint64_t> departures;  // by partition: events for other ranks
  std::uint64_t serial_ns = 0;                // outside partitions, what a rank's main thread does
  std::uint64_t taken_ns = 0;                 // by other work, from those that were busy
  std::uint64_t host_ns = 0;                  // the epoch, by the clock on the wall
  std::uint64_t committed_events = 0;         // about, since the start: executed less undone
};

// Owner: the rank's main thread.
class Rehearsal {
 public:
  Rehearsal() = default;
  Rehearsal(const Rehearsal&) = delete;
  Rehearsal& operator=(const Rehearsal&) = delete;
  virtual ~Rehearsal() = default;

  // Of the larger run. All its partitions are on this rank, those of its rank 0 first, then those
  // of rank 1, and so on; each has equally many.
  [[nodiscard]] virtual std::uint32_t ranks() const = 0;
  [[nodiscard]] virtual std::uint32_t threads() const = 0;  // of a rank
  // After each epoch. Returns the time that the workers of all ranks would have lost in it.
  virtual std::uint64_t lost_ns(const RehearsedEpoch& epoch) = 0;
  // Whether to stop; asked in each epoch before lost_ns(), so one more follows.
  [[nodiscard]] virtual bool is_over() const = 0;
};

// Tells an epoch's figures from the partitions' sums. For the engine. Owner: the rank's main
// thread.
class EpochMeter {
 public:
  // `rehearsal` outlives it.
  EpochMeter(Rehearsal& rehearsal, std::uint32_t partitions);

  // Has `executor` call run(i) once for each partition, which goes through the epoch, and measures
  // what that takes.
  void for_each(Executor& executor, const std::function<void(std::uint32_t)>& run);

  // Hands the epoch to the rehearsal, and returns what that answers. `epoch_ns`: of the epoch and
  // of agreeing on GVT after it.
  std::uint64_t lost_ns(std::span<const std::unique_ptr<Partition>> partitions,
                        std::uint64_t epoch_ns);

 private:
  Rehearsal& rehearsal_;
  std::vector<std::uint64_t> busy_before_ns_, busy_ns_;  // by partition
  std::vector<std::uint64_t> sent_before_, sent_;
  std::vector<std::uint64_t> processor_ns_;  // by partition, of its thread: what it had in the loop
  std::uint64_t loop_ns_ = 0;                // by the clock on the wall
  std::uint64_t main_before_ns_;    // of the main thread's processor time, when the epoch began
  std::uint64_t main_loop_ns_ = 0;  // what it had of it in the loop
};

// Of `by_clock_ns` of work, that in which it had a processor: what it was measured to have,
// `processor_ns`, in a span that begins no later and ends no earlier.
constexpr std::uint64_t undisturbed_ns(std::uint64_t by_clock_ns, std::uint64_t processor_ns) {
  return by_clock_ns < processor_ns ? by_clock_ns : processor_ns;
}

}  // namespace exawarp::pdes
