// What a run says about energy and power, in words; summary.json has the same.
#pragma once

#include <optional>
#include <string>

#include "io/report/results.h"
#include "model/energy/energy.h"

namespace exawarp::io {

// None where the accelerator's file has no `power`, or the run did not finish.
std::optional<model::Energy> energy_of(const RunReport& report);

// What follows from it for those who count steps, tokens, grams and money; 0 where it is not known.
struct EnergyFigures {
  double step_j = 0;   // of the job whose steps take longest, with all that the cluster drew then
  double token_j = 0;  // of all jobs' tokens
  double carbon_g = 0, cost = 0;  // of the run
  double cost_per_hour = 0;       // of the cluster
};
EnergyFigures figures_of(const model::Energy& energy, const model::Outcome& outcome);

std::string energy_text(const model::Energy& energy, const model::Outcome& outcome);

// The cluster's power over time. Requires a trace that is finished.
std::string power_text(const model::PowerTrace& trace, const model::Outcome& outcome);

}  // namespace exawarp::io
