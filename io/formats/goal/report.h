// A GOAL run in words and as JSON.
#pragma once

#include <cstdint>
#include <string>

#include "io/formats/goal/outcome.h"
#include "io/formats/goal/parameters.h"
#include "pdes/engine.h"

namespace exawarp::io {

struct GoalReport {
  const model::goal::LogGops* model;
  const GoalOutcome* outcome;
  const pdes::RunResult* result;
  pdes::Sync sync;
  std::uint32_t ranks;  // MPI processes
  std::uint64_t peak_rss_bytes;
};

std::string goal_text(const GoalReport& report);
std::string goal_json(const GoalReport& report);
// What never met its counterpart, for standard error: the first twenty and a count.
std::string unmatched_text(const GoalReport& report);

}  // namespace exawarp::io
