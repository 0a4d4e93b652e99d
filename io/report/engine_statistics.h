// What the engine did in a run, and where its host time went: `engine` of the summaries.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "pdes/engine.h"

namespace exawarp::io {

// The keys are listed in docs/guide/user_guide.md. They differ from run to run.
nlohmann::ordered_json engine_statistics(const pdes::RunResult& result);

}  // namespace exawarp::io
