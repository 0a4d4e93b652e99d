// What devices cannot run, said before time zero.
#pragma once

#include <cstdint>
#include <string>

#include "model/workload/graph.h"

namespace exawarp::model {

// `PLACE: programs[3] "stage 3" nodes[17] "forward 2"`: what an error about a node starts with.
std::string node_place(const WorkloadGraph& graph, std::uint32_t program, std::uint32_t node);

// Throws core::InputError, naming the node, at the first receive of one (peer, tag) on two streams.
// Requires a validated graph: validate() has seen that the members of a group run the same
// collectives, each group's on one stream. Cost: O(nodes).
void check_supported(const WorkloadGraph& graph);

}  // namespace exawarp::model
