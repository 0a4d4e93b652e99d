// What `exawarp workload inspect` prints.
#pragma once

#include <string>

#include "model/workload/inspect.h"

namespace exawarp::io {

// "160 GB", "12 B".
std::string with_unit(double count, const char* unit);

// `critical_path` is critical_path_text() or critical_path_json() (critical_path.h).
std::string facts_text(const model::WorkloadFacts& facts, const std::string& critical_path);
std::string facts_json(const model::WorkloadFacts& facts, const std::string& critical_path);

}  // namespace exawarp::io
