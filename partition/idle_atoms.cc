#include "partition/idle_atoms.h"

namespace exawarp::partition {

std::vector<std::uint32_t> deal_out_idle_atoms(const WeightedGraph& graph,
                                               core::Placement& placement) {
  std::vector<std::uint32_t> connected;
  std::vector<std::uint32_t> idle;
  for (std::uint32_t v = 0; v < graph.vertices(); ++v)
    (graph.weight(v) == 0 && graph.neighbours(v).empty() ? idle : connected).push_back(v);
  const std::uint64_t parts = placement.partitions();
  for (std::uint64_t i = 0; i < idle.size(); ++i)
    placement.partition_of_atom[idle[i]] = static_cast<std::uint16_t>(i * parts / idle.size());
  return connected;
}

}  // namespace exawarp::partition
