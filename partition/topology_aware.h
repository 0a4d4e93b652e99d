// Placement that follows the traffic: atoms that talk a lot share a partition, or at least a rank.
#pragma once

#include "core/placement.h"
#include "partition/block.h"
#include "partition/weighted_graph.h"

namespace exawarp::partition {

// A pure function: the same graph and request give the same placement on every machine.
// Requires what place_in_blocks requires, and request.atoms == graph.vertices().
// Guarantee: no partition is heavier than 1.02 averages plus four times the heaviest atom (with
// equal weights the parts usually differ by one atom). Atoms without weight and edges (switches
// that a fidelity does not use) are distributed in blocks.
core::Placement place_by_topology(const WeightedGraph& graph, const PlacementRequest& request);

}  // namespace exawarp::partition
