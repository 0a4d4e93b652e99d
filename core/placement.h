// Which logical process lives where. Made by partition/, used by pdes/.
//
// LPs are placed in atoms: 2^atom_shift consecutive ids that always stay together (a node's
// devices, say). The table holds two bytes an atom of the whole simulation on every rank: a
// quarter of a byte a device for nodes of eight, 8 KiB for 32,768 devices. That is the reason it
// may grow with the cluster.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ids.h"

namespace exawarp::core {

struct Placement {
  std::uint32_t atom_shift = 0;
  std::vector<std::uint16_t> partition_of_atom;  // index: LpId >> atom_shift
  std::uint32_t partitions_per_rank = 1;         // partition p lives on rank p / this
  std::uint32_t ranks = 1;

  [[nodiscard]] std::uint32_t partitions() const { return partitions_per_rank * ranks; }
  [[nodiscard]] RankId rank_of(PartitionId p) const { return {p.value / partitions_per_rank}; }
  // Requires the id to be covered by the table.
  [[nodiscard]] PartitionId partition_of(LpId lp) const {
    return {partition_of_atom[lp.value >> atom_shift]};
  }
};

}  // namespace exawarp::core
