// What the program does with a workload that it accepts.
#pragma once

#include "model/workload/graph.h"

namespace exawarp::fuzz {

// Inspects, times, draws, compares, exports, imports again and converts, as the commands do; large
// graphs in part. Ends the process where a part breaks its promise. Requires a graph that
// validate() accepted. Throws core::InputError where a part refuses the graph.
void use_workload(const model::WorkloadGraph& graph);

}  // namespace exawarp::fuzz
