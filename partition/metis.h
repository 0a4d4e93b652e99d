// Placement by METIS, the multilevel graph partitioner: the yardstick of place_by_topology.
#pragma once

#include "core/placement.h"
#include "partition/block.h"
#include "partition/weighted_graph.h"

namespace exawarp::partition {

// The same graph and request give the same placement with the same METIS library: its seed is
// fixed. Ranks of one run must therefore have the same library; `exawarp run` checks it.
// Requires what place_in_blocks requires, and request.atoms == graph.vertices().
// Guarantee: parts are as even as METIS makes them, usually within 3 % and a heaviest atom of the
// average. Atoms without weight and edges are distributed in blocks.
// Throws core::SystemError where METIS refuses (memory). Thread safety: calls take turns.
core::Placement place_by_metis(const WeightedGraph& graph, const PlacementRequest& request);

}  // namespace exawarp::partition
