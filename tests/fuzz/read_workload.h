// Reads a workload as the simulator may.
#pragma once

#include <cstdint>

#include "model/workload/graph.h"

namespace exawarp::fuzz {

// Reads through every accessor, so that a sanitizer sees what goes out of bounds, and ends the
// process where an answer is out of range. Requires a graph that validate() accepted. Returns a
// sum, so that no read is optimised away.
std::uint64_t read_workload(const model::WorkloadGraph& graph);

}  // namespace exawarp::fuzz
