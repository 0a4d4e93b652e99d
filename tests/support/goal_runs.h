// GOAL schedules in tests: written in a line, run in any mode, and an oracle of the semantics.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/digest.h"
#include "model/guests/goal/host.h"
#include "tests/support/run_matrix.h"

namespace exawarp::tests {

struct GoalRun {
  std::vector<std::int64_t> finish;  // units, by rank
  core::Digest digest;
  std::uint64_t messages = 0;
  std::uint64_t unended = 0;     // operations
  std::uint64_t rolled_back = 0;
  std::uint64_t audited = 0;
  std::uint64_t log_bytes = 0;  // of the history: records, undo, sends
};

GoalRun run_goal(const model::goal::Schedule& schedule, const model::goal::Parameters& parameters,
                 const RunCase& run = {});

// LogGOPSim's own algorithm, one queue over all hosts ordered by (time, insertion), with its free
// operations sorted stably. For schedules whose operations all end; what the model does with more
// than one CPU is this with Parameters::as_loggopsim only. Times by rank, in units. It shares no
// code with the model but the schedule.
std::vector<std::int64_t> goal_oracle(const model::goal::Schedule& schedule,
                                      const model::goal::Parameters& parameters);

// In the optimistic mode under audit, and with a window so wide that it rolls back.
struct GoalModes {
  GoalRun sequential, conservative, optimistic;
};
GoalModes run_goal_in_every_mode(const model::goal::Schedule& schedule,
                                 const model::goal::Parameters& parameters);

// Parameters that follow from the seed; messages are eager up to `eager_limit` bytes.
model::goal::Parameters random_parameters(std::uint64_t seed, std::uint64_t eager_limit);

// Rounds of pairwise messages. An operation follows one of its rank's earlier rounds, so that
// nothing waits for ever, and odd sizes and times make ties rare but not absent.
// Coarse ones are few and round, so that most of what happens happens together with something else.
enum class Sizes { odd, coarse };
model::goal::Schedule random_schedule(std::uint64_t seed, std::uint32_t ranks,
                                      Sizes sizes = Sizes::odd);

}  // namespace exawarp::tests
