// Where logical processes go, by who talks to whom.
#pragma once

#include "core/placement.h"
#include "io/study/study.h"
#include "model/network/packet/traffic_graph.h"
#include "partition/block.h"
#include "partition/weighted_graph.h"

namespace exawarp::io {

partition::WeightedGraph weighted_graph_of(const model::Traffic& traffic);

// Throws what the method throws.
core::Placement place_by(PlacementMethod method, const partition::WeightedGraph& graph,
                         const partition::PlacementRequest& request);

}  // namespace exawarp::io
