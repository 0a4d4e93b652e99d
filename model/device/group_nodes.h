// How the communicators of a group lie in the nodes of a cluster: which ones reach beyond a node,
// and how many of their members share one.
#pragma once

#include <cstdint>

#include "model/job/job.h"
#include "model/workload/graph.h"

namespace exawarp::model {

// A number m of which every m consecutive positions, from a multiple of m on, share a node, in each
// communicator. It divides their sizes. 1 where they are parts of a node: then nothing but a node's
// switch tells members apart, and a part has none of its own. Nodes are what the job knows of them:
// `ranks_in_node` ranks from each multiple of it on.
std::uint32_t members_in_node(const PlacedJob& job, const GroupTable& table);

// The same of `size` ranks that are `stride` apart, among others like them.
std::uint32_t members_in_node(std::uint32_t ranks_in_node, std::uint32_t stride,
                              std::uint32_t size);

// Whether some communicator has members in several nodes.
bool reaches_beyond_node(const PlacedJob& job, const GroupTable& table);

}  // namespace exawarp::model
