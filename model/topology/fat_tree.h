// A three-tier fat tree (leaf, pod spine, core) as functions of ids: O(1) memory.
// Al-Fares, Loukissas, Vahdat: "A scalable, commodity data center network architecture", SIGCOMM
// 2008, with the tiers' widths free.
//
//   leaf of a device   device / devices_per_leaf
//   pod of a leaf      leaf / leaves_per_pod
//   leaves             ceil(devices / devices_per_leaf);  pods = ceil(leaves / leaves_per_pod)
//   spines             pods * spines_per_pod (none where there is one leaf)
//   cores              as given; 0: spines_per_pod * leaves_per_pod, one for each up-link of a
//                      pod, as in a full fat tree (none where there is one pod)
//
// Switch indices: leaves, then spines, then cores.
#pragma once

#include <cstdint>

#include "core/ids.h"
#include "core/time.h"
#include "model/network/fabric.h"

namespace exawarp::model {

// How far apart two devices are; each tier's path passes every tier below it twice.
enum class Tier : std::uint16_t { node, leaf, pod, core };
constexpr std::uint32_t kTierCount = 4;

struct Path {
  std::uint32_t switches = 0;
  std::uint32_t links = 0;
};

class FatTree {
 public:
  // Requires devices_per_leaf, leaves_per_pod and devices >= 1.
  FatTree(const ScaleOutFabric& fabric, std::uint32_t devices);

  [[nodiscard]] std::uint32_t leaf_of(core::DeviceId d) const { return d.value / per_leaf_; }
  [[nodiscard]] std::uint32_t pod_of(core::DeviceId d) const {
    return leaf_of(d) / leaves_per_pod_;
  }
  [[nodiscard]] std::uint32_t leaves() const { return leaves_; }
  [[nodiscard]] std::uint32_t pods() const { return pods_; }
  [[nodiscard]] std::uint32_t spines() const { return spines_; }
  [[nodiscard]] std::uint32_t cores() const { return cores_; }
  [[nodiscard]] std::uint32_t switches() const { return leaves_ + spines_ + cores_; }

  // leaf, pod or core. Requires devices of different nodes.
  [[nodiscard]] Tier tier_between(core::DeviceId a, core::DeviceId b) const;
  // leaf: 1 switch, 2 links; pod: 3 and 4; core: 5 and 6. Requires tier != node.
  [[nodiscard]] static Path path(Tier tier);

 private:
  std::uint32_t per_leaf_, leaves_per_pod_;
  std::uint32_t leaves_, pods_, spines_, cores_;
};

}  // namespace exawarp::model
