// What `exawarp workload inspect` prints.
#pragma once

#include <string>

#include "model/workload/inspect.h"

namespace exawarp::io {

std::string facts_text(const model::WorkloadFacts& facts);
std::string facts_json(const model::WorkloadFacts& facts);

}  // namespace exawarp::io
