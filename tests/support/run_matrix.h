// Runs one model in many ways: modes, ranks as threads, workers, partitions, windows, chaos.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/placement.h"
#include "pdes/engine.h"
#include "tests/support/draws.h"

namespace exawarp::tests {

struct RunCase {
  pdes::Sync sync = pdes::Sync::sequential;
  std::uint32_t ranks = 1;
  std::uint32_t threads = 1;             // per rank
  std::uint32_t partitions_per_rank = 1;
  core::Time window{0};                  // 0: adaptive
  std::uint64_t chaos_seed = 0;          // 0: calm transport
  double audit_probability = 0;
  std::uint64_t rebuild_events = 0;      // about every so many events states are rebuilt; 0: never
  std::uint64_t memory_budget_bytes = 0;
  double sample_interval_s = 0;          // 0: no time series

  [[nodiscard]] std::string text() const;
};

// In parallel: 1 or 2 ranks of 1 or 2 threads, 2 to 5 partitions a rank. One case in four is
// conservative; of windows two in three are up to `longest_window`, the others adaptive; one case
// in two is audited, and in one of four states are rebuilt.
struct DrawnCases {
  core::Time longest_window;
  double audit_probability;
  std::uint64_t rebuild_events;
};
RunCase drawn_case(Draws& draw, const DrawnCases& cases);

// Makes the placement of a case; blocks of atoms where a test has no wish of its own.
using Placer = std::function<core::Placement(std::uint32_t ranks, std::uint32_t per_rank)>;
Placer blocks_of(std::uint32_t lps, std::uint32_t atom_shift);

struct MatrixModel {
  const pdes::Model* model;
  Placer placer;
  core::Time end = core::Time::max();
  std::uint64_t seed = 1;
};

// A cut of all ranks.
struct WholeCut {
  pdes::CutTotals totals;
  std::vector<pdes::CutChunk> chunks;
};

// What a run has to do with cuts.
struct Cutting {
  core::Time every{0};                     // simulated; 0: never
  double every_s = 0;                      // host time; a tiny one: after each epoch; 0: never
  std::vector<WholeCut>* taken = nullptr;  // in order; of more than 16 some
  const WholeCut* from = nullptr;          // to go on from instead of starting
};

// What rank 0 reports; statistics are of all ranks. `sink` may be null; with several ranks it is
// shared by them.
pdes::RunResult run_case(const MatrixModel& model, const RunCase& run,
                         pdes::EmissionSink* sink = nullptr, const Cutting& cutting = {});

// A run in some mode on some ranks, threads and partitions, drawn from a seed.
RunCase random_case(std::uint64_t seed);

// {sequential, conservative, optimistic} x {1, 2, 4} workers x {1, 2, 4} ranks x {tiny, default
// window} x {calm, chaotic}, less what repeats; `tiny` is the narrow window.
std::vector<RunCase> differential_cases(core::Time tiny);

// Optimistic on 2 ranks x 2 threads x 3 partitions, with this share of events under rollback audit.
RunCase audited_case(core::Time window, double share);

}  // namespace exawarp::tests
