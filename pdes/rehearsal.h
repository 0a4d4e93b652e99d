// A run on one worker that goes through the epochs of a larger one.
//
// Idea: within an epoch partitions know nothing of each other (what they send is read in the next
// one), so one worker that runs the partitions of many ranks and threads executes, undoes and sends
// just what these would, as long as its window is theirs. The window follows from what workers lose
// by waiting. So whoever rehearses is told after each epoch what every partition took, and answers
// what the workers of the larger run would have lost meanwhile.
//
// Example: two threads; of an epoch's partitions one takes 30 us and one 10. They would have waited
// 20 us, and the time of a barrier. One worker waits for nobody, and would choose a short window.
//
// Nothing of it affects results. Used by `exawarp plan` (io/life/planning.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace exawarp::pdes {

class Partition;

// What an epoch took, on this one worker. Spans are valid during the call.
struct RehearsedEpoch {
  std::span<const std::uint64_t> busy_ns;     // by partition: taking in, collecting, executing
  std::span<const std::uint64_t> departures;  // by partition: events for other ranks
  std::uint64_t serial_ns = 0;                // the rest, which a rank's main thread does
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

// Tells an epoch's figures from the partitions' sums. For the engine.
class EpochMeter {
 public:
  // `rehearsal` outlives it.
  EpochMeter(Rehearsal& rehearsal, std::uint32_t partitions);

  // Hands the epoch to the rehearsal, and returns what that answers. `epoch_ns`: of the epoch and
  // of agreeing on GVT after it.
  std::uint64_t lost_ns(std::span<const std::unique_ptr<Partition>> partitions,
                        std::uint64_t epoch_ns);

 private:
  Rehearsal& rehearsal_;
  std::vector<std::uint64_t> busy_before_ns_, busy_ns_;  // by partition
  std::vector<std::uint64_t> sent_before_, sent_;
};

}  // namespace exawarp::pdes
