// A workload graph as Chakra execution traces (docs/guide/chakra.md).
#pragma once

#include <string>

#include "model/workload/graph.h"

namespace exawarp::io {

// Writes PREFIX.<rank>.et for each device and, where there are communicators of some of the
// devices, PREFIX.comm_groups.json. What was imported from Chakra is written as it was, but for
// tags, which are numbered anew; of another graph, what Chakra has no attribute for goes into
// attributes exawarp_*. Requires validate(). Throws core::InputError where the graph has no such
// form, SystemError where a file cannot be written.
void export_chakra(const model::WorkloadGraph& graph, const std::string& prefix);

// The same as PREFIX.<rank>.json (json_trace.h).
void export_json(const model::WorkloadGraph& graph, const std::string& prefix);

}  // namespace exawarp::io
