// How evenly a message's packets have left: what its sender tells the watch of steady flows.
#pragma once

#include <cstdint>
#include <limits>

#include "core/time.h"
#include "pdes/event.h"
#include "pdes/undo_table.h"

namespace exawarp::model {

// To the watch, which is a logical process of its own (steady_watch.h).
enum class SteadyEvent : pdes::EventKind {
  starts = 96,  // from the sender: SteadyStart
  ends,         // from the receiver: SteadyEnd
  runs,         // from the sender: SteadyReport
  queues,       // from the sending end of a line: QueueLeft
  over,         // of itself: StretchOver
};
constexpr pdes::EventKind kind_of(SteadyEvent e) { return static_cast<pdes::EventKind>(e); }

struct SteadyStart {
  std::uint32_t message = 0;  // its number at the sender
  std::uint32_t to = 0;       // device
  std::uint32_t packets = 0;
};

struct SteadyEnd {
  std::uint32_t source = 0, message = 0;
};

// Packet `sent` started at `at`; so many before it left evenly, over `run`.
struct SteadyReport {
  std::uint32_t message = 0;
  std::uint32_t sent = 0;
  core::Time at, run;
  std::uint32_t run_packets = 0;
  // By how many millionths the later part of the run was faster than its beginning, or
  // kUnknownDrift.
  std::int32_t drift_per_million = 0;
};
inline constexpr std::int32_t kUnknownDrift = std::numeric_limits<std::int32_t>::max();

// More waits for a line that stands still for a stretch than would if it had settled.
struct QueueLeft {
  std::uint32_t link = 0, stretch = 0;
  core::Time depth;
};

struct StretchOver {
  std::uint32_t source = 0, message = 0;  // of a flow of the part
  std::uint32_t stretch = 0;
  std::uint32_t is_cut = 0;  // 1: by another message, before its length
};

// So many packets of a message count as sent and received, and what its sender remembers of times
// is so much later. To the sender, and from it to the receiver.
struct Skip {
  std::uint32_t message = 0;
  std::uint32_t packets = 0;
  core::Time by;
  // Nothing queued, so that congestion control was told nothing: its timers ran on, and its memory
  // of what it had been told before has faded.
  std::uint32_t even = 0;
  std::uint32_t unused = 0;
};

// Of a message that is being sent. Packets are looked at by windows; a run is windows that follow
// each other and took equally long, to within the error asked for. Where a rate swings, windows
// grow until its swings even out.
struct SteadyRun {
  std::uint64_t key = 0;         // the message's number
  core::Time window_began{-1};   // negative: before its first packet
  core::Time run_began{};
  std::uint32_t window_first = 0;
  std::uint32_t window_packets = 0;
  std::uint32_t run_packets = 0;
  std::uint32_t misses = 0;      // short runs that ended since windows are as long as they are
  // The run's beginning, a quarter of it or more; and what becomes the beginning when it is twice
  // as long.
  core::Time early_ended{}, next_ended{};
  std::uint32_t early_packets = 0, next_packets = 0;
  core::Time skipped{};          // in all: stamps are of a clock that stood still meanwhile
  std::uint32_t notified = 0;    // congestion notifications in the run
  std::uint32_t unused = 0;

  static constexpr std::uint32_t kWindowLeast = 16, kWindowMost = 1u << 16;
  static constexpr std::uint32_t kWindowsLeast = 8, kNotifiedLeast = 4;
  static constexpr std::uint32_t kMissesMax = 2;  // then the window is doubled

  // Whether a window of `packets` that took `took` is as those of the run, to within so many
  // millionths.
  [[nodiscard]] bool agrees(core::Time took, std::uint32_t packets,
                            std::uint32_t error_per_million) const;
  // As SteadyReport has it. Unknown, too, in a run of fewer than kWindowsLeast windows, which may
  // have ended one that was unlike them, and where notifications drive the rate (`is_notified`) and
  // fewer than kNotifiedLeast came: the run may be but the rise between two cuts.
  [[nodiscard]] std::int32_t drift_per_million(bool is_notified) const;
  // All times are so much later.
  [[nodiscard]] SteadyRun postponed(core::Time by) const;
  // Packet `number` starts at `at`. Returns whether a window ended that belongs to a run.
  bool take(std::uint32_t number, core::Time at, std::uint32_t error_per_million);
};

struct SteadyRuns {
  pdes::UndoTable<SteadyRun> of;
};

void describe(pdes::StateArchive& archive, SteadyRuns& runs);

}  // namespace exawarp::model
