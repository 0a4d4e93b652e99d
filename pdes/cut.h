// A consistent cut through a simulation: all that it takes to go on from a moment, on any number of
// ranks, threads and partitions, in any mode.
//
// What was executed before the cut is executed in full: nothing of it can be undone, and all that
// it sent and nobody has executed is pending. So a cut holds the described state of each LP, its
// count of sends, the pending events, and what digest and statistics have come to. Sinks hold what
// they have been handed, which is what the cut's events emitted.
//
// It lies at a time: all events before it are executed. Those of that very instant may be, some of
// them, where nothing is ever undone; at an interval of simulated time none is, so such a cut holds
// the same in every mode.
//
// LPs and the events that they are to get come in chunks, so that a rank that goes on with some of
// them reads little else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/digest.h"
#include "core/ids.h"
#include "core/time.h"
#include "pdes/event.h"
#include "pdes/statistics.h"

namespace exawarp::pdes {

struct CutTotals {
  core::Time at{0};
  core::Time last_event{0};  // the latest that is executed
  core::Digest digest;       // of the events that are executed, without states
  Statistics statistics;
  double run_s = 0;          // host time of the run phase, this run's and of those it goes on from
};

// LPs between two ids, not necessarily all of them, and the pending events that go to them.
struct CutChunk {
  core::LpId first, last;
  std::vector<std::byte> bytes;  // for Engine::restore() alone
};

// What a chunk holds, for those who look into one.
struct CutContent {
  struct Lp {
    core::LpId id;
    std::uint32_t type = 0;              // index into Model::types()
    std::uint32_t sequence = 0;          // how many events it has sent
    std::span<const std::byte> state{};  // as a StateWriter described it
  };
  std::vector<Lp> lps;
  std::vector<Event> events;  // pending; key, kind and payload alone are set
};
// Points into the chunk. Throws core::InputError, without a place, where it is damaged.
CutContent content_of(std::span<const std::byte> chunk);

struct RankCut {
  CutTotals totals;  // of all ranks
  std::vector<CutChunk> chunks;
};

// When to take cuts, and who gets them. Intervals are counted from the start of the run, those of
// simulated time from time 0.
struct CutPlan {
  double every_s = 0;     // host seconds; 0: never
  // Simulated time; 0: never. Multiples with no event between them, or after them, may be left out:
  // it depends on what was guessed there and undone.
  core::Time every{0};
  // On each rank's main thread, between two epochs; all ranks at once. Also where the run is to
  // stop. Empty: no cuts.
  std::function<void(RankCut&&)> take;
};

}  // namespace exawarp::pdes
