// Where results come from: what a run was told, and what ran.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "io/report/results.h"

namespace exawarp::io {

// Command line, overrides, resolved study, program, host and date.
nlohmann::ordered_json provenance_json(const RunReport& report);

}  // namespace exawarp::io
