// Atoms that no method has an opinion on: without weight and without edges, such as switches that
// a network fidelity does not use.
#pragma once

#include <cstdint>
#include <vector>

#include "core/placement.h"
#include "partition/weighted_graph.h"

namespace exawarp::partition {

// Deals the idle atoms out in blocks, over all partitions of `placement`; returns the others,
// ascending. Requires a placement with an entry for each vertex.
std::vector<std::uint32_t> deal_out_idle_atoms(const WeightedGraph& graph,
                                               core::Placement& placement);

}  // namespace exawarp::partition
