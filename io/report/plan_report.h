// What `exawarp plan` says of a run that has not taken place: how long it would take on so many
// ranks and threads, where that time would go, and what memory it needs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pdes/engine.h"

namespace exawarp::io {

// Workers of a run.
struct RunShape {
  std::uint32_t ranks = 1;
  std::uint32_t threads = 1;  // of a rank

  [[nodiscard]] std::uint32_t workers() const { return ranks * threads; }
  bool operator==(const RunShape&) const = default;
};

// Where the wall time of a run phase goes: sums over epochs. They add up to it.
struct EpochTimes {
  double work_ns = 0;       // of a worker, on average
  double imbalance_ns = 0;  // what the slowest worker of an epoch has beyond that
  double barrier_ns = 0;    // of the threads of a rank, with what its main thread does in between
  double exchange_ns = 0;   // events and votes between ranks

  [[nodiscard]] double wall_ns() const {
    return work_ns + imbalance_ns + barrier_ns + exchange_ns;
  }
};

// Of one shape.
struct PlannedShape {
  RunShape shape;
  double run_s = 0;
};

// What the machine at hand was measured to take, or was taken for.
struct PlanCosts {
  double event_ns = 0;           // processor time of a committed event and what is undone for it
  double barrier_ns = 0;         // of an epoch, between the threads of a rank
  double exchange_ns = 0;        // of an epoch, between ranks
  double exchange_event_ns = 0;  // beyond that, of an event to another rank
  double round_trip_s = 0;       // between hosts, as given
};

// What bounds the run phase, by the largest share of its time.
enum class PlanLimit { work, imbalance, barriers, exchange };

inline constexpr core::Named<PlanLimit> kPlanLimitNames[] = {
    {"work", PlanLimit::work},
    {"imbalance", PlanLimit::imbalance},
    {"barriers", PlanLimit::barriers},
    {"exchange", PlanLimit::exchange}};
constexpr std::span<const core::Named<PlanLimit>> names_of(PlanLimit) { return kPlanLimitNames; }
static_assert(core::names_each(kPlanLimitNames));

struct PlanReport {
  std::string study;
  pdes::Sync sync = pdes::Sync::optimistic;
  RunShape shape;
  std::uint32_t hosts = 1;
  std::uint32_t partitions_per_rank = 1;

  double sample_s = 0;               // host time of the piece that was simulated
  std::uint64_t sample_events = 0;   // that it committed
  std::uint64_t events = 0;          // of the whole run; about, unless the sample was all of it
  bool whole = false;                // it was
  std::uint64_t epochs = 0;          // of the sample
  double undone = 0;                 // share of executions that were undone

  double setup_s = 0;
  double run_s = 0;
  double run_low_s = 0, run_high_s = 0;   // were the rest like the fastest, the slowest stretches
  EpochTimes times;                       // of the run phase
  std::uint64_t rank_bytes = 0;           // at the peak; of the rank with most
  PlanCosts costs;

  std::vector<PlannedShape> choices;  // fewer workers, same partitions; the run itself is the last
  RunShape advised;
  PlanLimit limit = PlanLimit::work;
  std::vector<std::string> assumptions;  // sentences
};

// For people. Ends with an end of line.
std::string plan_text(const PlanReport& report);
// The keys are listed in docs/guide/planning.md; `schema` is "exawarp-plan-1".
std::string plan_json(const PlanReport& report);

}  // namespace exawarp::io
