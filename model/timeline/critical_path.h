// What bound a run: the chain of tasks and messages, each of which began when the one before it
// ended, from the start of the job that ended last to its end. Found after the run on rank 0, from
// the timeline of all devices (timeline.h), so it is the same in every mode, on any number of
// ranks, threads and partitions, and a run without it pays nothing.
//
// From the last end backwards, at each task, what it waited for last:
//
//   compute      what ended on its device when it began: the task before it on its stream or, if
//                that had ended before, one that it depends on
//   collective   the member that came last, of those that had come when it ended here (broadcast,
//                scatter, permute: of the source and this device)
//   receive      the send, if the message came later than the receive; else the receive itself
//   send         what was before it; a long message's waits for the receiver, too
//
// Of several that ended at one instant the one on the same stream counts, then the first in the
// order of dependencies; of members this device, then the one of the lowest LP.
//
// What a message or collective took is split by closed forms: as much time on interfaces as it has
// alone, then as much latency, and what is left is waiting for busy links. At analytical fidelity
// nothing is busy, so all but latency is time on interfaces.
//
// Cost: O(chain x members of its collectives x log of a stream's tasks). Memory: 8 bytes a stream
// of each device, and about 12 bytes a task of a device that the chain passes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/ids.h"
#include "core/time.h"
#include "model/timeline/timeline.h"

namespace exawarp::model {

class Cluster;

enum class PathPart : std::uint8_t {
  work,       // a task that computes
  launch,     // of its kernel, in proportion to what the task took
  noise,      // what the slowest rank of many takes longer (compute/rank_noise.h)
  variation,  // what jitter, slow devices and collectives beside it added to it
  latency,    // of a message or collective, software overheads included
  bandwidth,  // its time on interfaces
  queue,      // where it waited for busy links
  host,       // that launches what a device does
};
constexpr std::size_t kPathPartCount = 8;

// Without gaps: each begins where the one before it ends. None takes no time.
struct PathElement {
  core::LpId lp;              // where it ends
  std::uint32_t program = 0;  // of all jobs, of that device
  std::uint32_t task = 0;     // index into ProgramTable::tasks
  PathPart part = PathPart::work;
  core::Time from, until;
  friend bool operator==(const PathElement&, const PathElement&) = default;
};

struct CriticalPath {
  std::uint32_t job = 0;              // whose chain it is: the one that ended last
  core::Time from, until;             // from its start to its end
  std::vector<PathElement> elements;  // in the order of time
};

// Tasks of a run. Each has a record of 32 bytes, of communication two, on its rank; rank 0 has all
// of them twice for a moment, then a slice of 56 bytes for each. So 10 GB for as many as there may
// be.
constexpr std::uint64_t kPathTasksMax = 50'000'000;

// Nothing where the timeline does not say: it was cut, leaves out devices or times, or is of a run
// that did not finish, of no task that takes time, or whose devices changed on the way.
std::optional<CriticalPath> critical_path(const Cluster& cluster, const Timeline& timeline);

}  // namespace exawarp::model
