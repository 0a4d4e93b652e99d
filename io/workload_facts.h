// What `exawarp workload inspect` prints.
#pragma once

#include <string>

#include "model/workload/inspect.h"

namespace exawarp::io {

// `critical_path` is critical_path_text() or critical_path_json() (critical_path.h).
std::string facts_text(const model::WorkloadFacts& facts, const std::string& critical_path);
std::string facts_json(const model::WorkloadFacts& facts, const std::string& critical_path);

}  // namespace exawarp::io
