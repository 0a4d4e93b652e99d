#include "partition/quality.h"

#include <algorithm>
#include <vector>

#include "core/check.h"

namespace exawarp::partition {

Quality measure(const WeightedGraph& graph, const core::Placement& placement) {
  EXAWARP_CHECK(placement.partition_of_atom.size() == graph.vertices(),
                placement.partition_of_atom.size(), graph.vertices());
  Quality quality;
  std::vector<std::int64_t> part_weight(placement.partitions());
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    const std::uint32_t mine = placement.partition_of_atom[v];
    part_weight[mine] += graph.weight(v);
    for (const Neighbour& n : graph.neighbours(v)) {
      const std::uint32_t other = placement.partition_of_atom[n.vertex];
      if (n.vertex < v || mine == other) continue;  // each edge once
      quality.cut += n.weight;
      if (placement.rank_of({mine}) != placement.rank_of({other})) quality.rank_cut += n.weight;
    }
  }
  const auto [least, most] = std::minmax_element(part_weight.begin(), part_weight.end());
  quality.lightest_part = *least;
  quality.heaviest_part = *most;
  return quality;
}

}  // namespace exawarp::partition
