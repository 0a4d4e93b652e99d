// Identifiers as distinct types, so that a device is never passed where a rank is meant.
#pragma once

#include <compare>
#include <cstdint>

namespace exawarp::core {

template <class Tag>
struct Id {
  std::uint32_t value = 0;
  friend constexpr auto operator<=>(Id, Id) = default;
};

using LpId = Id<struct LpTag>;                // logical process, counted over the whole simulation
using DeviceId = Id<struct DeviceTag>;        // accelerator, counted over the whole cluster
using RankId = Id<struct RankTag>;            // MPI process
using PartitionId = Id<struct PartitionTag>;  // partition, counted over all ranks

}  // namespace exawarp::core
