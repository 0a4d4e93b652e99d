#include "partition/block.h"

namespace exawarp::partition {

core::Placement place_in_blocks(const PlacementRequest& request) {
  core::Placement placement{.atom_shift = request.atom_shift,
                            .partition_of_atom = {},
                            .partitions_per_rank = request.partitions_per_rank,
                            .ranks = request.ranks};
  const std::uint64_t partitions = placement.partitions();
  placement.partition_of_atom.reserve(request.atoms);
  for (std::uint64_t atom = 0; atom < request.atoms; ++atom)
    placement.partition_of_atom.push_back(
        static_cast<std::uint16_t>(atom * partitions / request.atoms));
  return placement;
}

}  // namespace exawarp::partition
