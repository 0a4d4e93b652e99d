#include "io/life/placing.h"

#include <utility>
#include <vector>

#include "partition/metis.h"
#include "partition/topology_aware.h"

namespace exawarp::io {

partition::WeightedGraph weighted_graph_of(const model::Traffic& traffic) {
  std::vector<std::int64_t> weights(traffic.work.begin(), traffic.work.end());
  std::vector<partition::WeightedEdge> edges;
  edges.reserve(traffic.neighbour.size() / 2);
  for (std::uint32_t a = 0; a < weights.size(); ++a) {
    for (std::uint64_t e = traffic.first_edge[a]; e < traffic.first_edge[a + 1]; ++e) {
      const std::uint32_t b = traffic.neighbour[e];
      if (a < b) edges.push_back({a, b, static_cast<std::int64_t>(traffic.weight[e])});
    }
  }
  return {std::move(weights), std::move(edges)};
}

core::Placement place_by(PlacementMethod method, const partition::WeightedGraph& graph,
                         const partition::PlacementRequest& request) {
  switch (method) {
    case PlacementMethod::block: break;
    case PlacementMethod::topology_aware: return partition::place_by_topology(graph, request);
    case PlacementMethod::metis: return partition::place_by_metis(graph, request);
  }
  return partition::place_in_blocks(request);
}

}  // namespace exawarp::io
