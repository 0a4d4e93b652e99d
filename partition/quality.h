// How good a placement is: what its borders cost and how even its parts are.
#pragma once

#include <cstdint>

#include "core/placement.h"
#include "partition/weighted_graph.h"

namespace exawarp::partition {

struct Quality {
  std::int64_t cut = 0;       // weight of the edges between partitions
  std::int64_t rank_cut = 0;  // of those, the edges between ranks: they cross a network
  std::int64_t heaviest_part = 0;
  std::int64_t lightest_part = 0;
};

// Requires a placement of exactly the graph's vertices.
Quality measure(const WeightedGraph& graph, const core::Placement& placement);

}  // namespace exawarp::partition
