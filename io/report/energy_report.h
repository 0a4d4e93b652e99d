// What a run says about energy, in words and in summary.json.
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
  double step_j =
      0;  // of the job whose steps take longest, with all that the cluster drew meanwhile
  double token_j = 0;             // of all jobs' tokens
  double carbon_g = 0, cost = 0;  // of the run
};
EnergyFigures figures_of(const model::Energy& energy, const model::Outcome& outcome);

std::string energy_text(const model::Energy& energy, const model::Outcome& outcome);

}  // namespace exawarp::io
