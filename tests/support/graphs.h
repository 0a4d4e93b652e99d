// Graphs that placements are tried on.
#pragma once

#include <cstdint>
#include <vector>

#include "partition/block.h"
#include "partition/weighted_graph.h"

namespace exawarp::tests {

std::vector<std::int64_t> equal_weights(std::uint32_t atoms);  // 8 each

partition::WeightedGraph ring_of(std::uint32_t atoms);

// `rings` rings that carry much, whose members lie `rings` ids apart, and chains between them that
// carry little: data-parallel rings over pipeline stages, numbered against their traffic.
partition::WeightedGraph strided_rings(std::uint32_t rings, std::uint32_t members);

// Random weights 0..9 and `degree` edges an atom on average, some atoms without any.
partition::WeightedGraph random_graph(std::uint64_t seed, std::uint32_t atoms,
                                      std::uint32_t degree);

// A random graph of up to 800 atoms, to be placed on up to 5 ranks of up to 9 partitions.
struct RandomPlacementCase {
  partition::WeightedGraph graph;
  partition::PlacementRequest request;
};
RandomPlacementCase random_placement_case(std::uint64_t seed);

}  // namespace exawarp::tests
