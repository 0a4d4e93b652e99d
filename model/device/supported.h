// What network fidelity `message` can run, said before time zero.
#pragma once

#include <cstdint>
#include <string>

#include "model/workload/graph.h"

namespace exawarp::model {

// `PLACE: programs[3] "stage 3" nodes[17] "forward 2"`: what an error about a node starts with.
std::string node_place(const WorkloadGraph& graph, std::uint32_t program, std::uint32_t node);

// Throws core::InputError, naming the node, at the first of: a collective without a ring form; a
// receive of one (peer, tag) on two streams; too many streams or (stream, group) pairs; members of
// one communicator that do not run the same collectives, split over streams in the same way.
// Requires a validated graph. Cost: O(nodes + devices x groups in use).
void check_supported(const WorkloadGraph& graph);

}  // namespace exawarp::model
