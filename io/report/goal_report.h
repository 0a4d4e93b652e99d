// A GOAL run in words and as JSON.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "io/formats/goal/parameters.h"
#include "io/report/goal_outcome.h"
#include "io/report/ran.h"

namespace exawarp::io {

struct GoalReport : Ran {
  std::unique_ptr<const model::goal::Schedule> schedule;
  std::unique_ptr<const model::goal::LogGops> model;
  std::optional<GoalOutcome> outcome;
};

std::string goal_text(const GoalReport& report);
std::string goal_json(const GoalReport& report);
// What never met its counterpart, for standard error: the first twenty and a count.
std::string unmatched_text(const GoalReport& report);

}  // namespace exawarp::io
