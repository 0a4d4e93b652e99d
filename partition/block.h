// Block placement: consecutive atoms in equal shares, partition after partition.
#pragma once

#include <cstdint>

#include "core/placement.h"

namespace exawarp::partition {

struct PlacementRequest {
  std::uint32_t atoms = 1;
  std::uint32_t atom_shift = 0;  // LPs per atom, as a power of two
  std::uint32_t ranks = 1;
  std::uint32_t partitions_per_rank = 1;
};

// Requires atoms, ranks and partitions_per_rank >= 1; ranks * partitions_per_rank <= 65536.
// Partitions stay empty where there are fewer atoms than partitions.
core::Placement place_in_blocks(const PlacementRequest& request);

}  // namespace exawarp::partition
