// The engine's front door: a model, a placement and options in; statistics and a digest out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "core/digest.h"
#include "core/names.h"
#include "core/placement.h"
#include "pdes/cut.h"
#include "pdes/emission.h"
#include "pdes/event.h"
#include "pdes/host_time.h"
#include "pdes/logical_process.h"
#include "pdes/statistics.h"
#include "pdes/time_series.h"

namespace exawarp::pdes {

class Rehearsal;
class Transport;

enum class Sync { sequential, conservative, optimistic };

inline constexpr core::Named<Sync> kSyncNames[] = {
    {"sequential", Sync::sequential}, {"conservative", Sync::conservative},
    {"optimistic", Sync::optimistic}};
constexpr std::span<const core::Named<Sync>> names_of(Sync) { return kSyncNames; }
static_assert(core::names_each(kSyncNames));

struct EngineOptions {
  Sync sync = Sync::optimistic;
  std::uint32_t threads = 1;             // workers on this rank, >= 1
  std::uint64_t seed = 1;
  Time end = Time::max();                // events at or after `end` are not executed, nor those
                                         // at or after core::kEndOfTime
  std::uint64_t memory_budget_bytes = 0; // for events and history of this rank; 0: half of what
                                         // the machine and the control group allow
  Time window{0};                        // optimistic: 0 adapts, else fixed
  double audit_probability = 0;          // share of events undone, compared and run again
  std::uint64_t rebuild_events = 0;      // for tests: about every so many events of a partition its
                                         // states are made anew from their descriptions; 0: never
  double time_limit_s = 0;               // host seconds from construction on; 0: none
  bool (*stop_asked)() = nullptr;        // on any rank: all end between two epochs; asked in each
  double sample_interval_s = 0;          // host seconds between moments of the time series; at
                                         // 0 there is none. All ranks pass the same
  Rehearsal* rehearsal = nullptr;        // the larger run whose epochs this one goes through, on
                                         // one rank (pdes/rehearsal.h); outlives the engine. Null:
                                         // none
};

// How far a run has come; for progress output. Called on the rank's main thread.
struct Progress {
  Time gvt;
  std::uint64_t committed_events = 0;  // all ranks
  std::uint64_t processed_events = 0;  // all ranks
  double run_s = 0;
};
using ProgressListener = std::function<void(const Progress&)>;

// What the engine holds on one rank, in bytes. The first three fall as ranks rise; the directory
// has an entry for each atom of the whole simulation (pdes/directory.h).
struct RankMemory {
  std::uint64_t lp_bytes = 0;         // logical processes with their headers
  std::uint64_t history_bytes = 0;    // the logs of histories
  std::uint64_t event_bytes = 0;      // event pools
  std::uint64_t directory_bytes = 0;
};

struct RunResult {
  core::Digest digest;        // of all ranks: equal in every mode
  Statistics total;           // of all ranks
  std::vector<Statistics> partitions;  // of this rank's partitions
  RankMemory least_memory;    // field by field, the least over ranks
  RankMemory most_memory;     // field by field, the most over ranks
  Time last_event;            // receive time of the last committed event, over all ranks
  double setup_s = 0;         // from construction to the first event
  double run_s = 0;           // of the runs that this one goes on from, too
  std::uint32_t threads = 0;  // as used
  std::uint32_t partition_count = 0;  // over all ranks
  bool stopped = false;       // at the time limit or as asked, before all was done
  std::uint32_t cuts = 0;     // taken
  double cut_s = 0;           // host time that they took, of this rank's
  // The first event at core::kEndOfTime, where options.end would have let it run: the run is not
  // over and cannot continue. Equal in every mode and on every rank, except the engine's figures.
  std::optional<Event> late;
  HostTime host_time;         // of all ranks
  TimeSeries series;          // of all ranks, on rank 0, where one was asked for
};

// One simulation on this rank; every rank of the transport constructs one and calls run().
// Owner: the thread that constructs it.
class Engine {
 public:
  // Builds this rank's LPs. `model`, `transport` and `sink` outlive the engine; `sink` may be null.
  Engine(const Model& model, const core::Placement& placement, const EngineOptions& options,
         Transport& transport, EmissionSink* sink = nullptr);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // To go on from a cut of the same model instead of starting: each chunk of which this rank wants
  // some LPs, then what the cut says of all ranks. Before run(). Statistics and run_s of the result
  // include those of the cut. Both throw core::InputError, without a place, where it is damaged or
  // of another model.
  [[nodiscard]] bool wants(const CutChunk& chunk) const;
  void restore(std::span<const std::byte> chunk);
  void go_on_from(const CutTotals& totals);

  // Executes every event before options.end. Call once.
  RunResult run(const ProgressListener& progress = {}, const CutPlan& cuts = {});

  // The state of each LP of this rank, in ascending id order. Call after run(), for what is final;
  // or from its progress listener, where events that may still be undone have changed it.
  void visit(const std::function<void(LpId, const void* state)>& visitor) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace exawarp::pdes
