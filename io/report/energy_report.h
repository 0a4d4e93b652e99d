// What a run says about energy, in words and in summary.json.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "io/report/results.h"
#include "model/energy/energy.h"

namespace exawarp::io {

// None where the accelerator's file has no `power`, or the run did not finish.
std::optional<model::Energy> energy_of(const RunReport& report);

// Of a step of the job that takes longest, and of a token of all jobs, in the time of the run.
nlohmann::ordered_json energy_json(const model::Energy& energy, const model::Outcome& outcome);
std::string energy_text(const model::Energy& energy, const model::Outcome& outcome);

}  // namespace exawarp::io
