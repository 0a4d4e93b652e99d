#include "model/topology/fat_tree.h"

#include "core/check.h"
#include "model/topology/support.h"

namespace exawarp::model {

FatTree::FatTree(const ScaleOutFabric& fabric, std::uint32_t devices)
    : per_leaf_(fabric.devices_per_leaf), leaves_per_pod_(fabric.leaves_per_pod) {
  leaves_ = ceil_div(devices, per_leaf_);
  pods_ = ceil_div(leaves_, leaves_per_pod_);
  spines_ = leaves_ == 1 ? 0 : pods_ * fabric.spines_per_pod;
  cores_ = pods_ == 1            ? 0
           : fabric.cores != 0 ? fabric.cores
                               : fabric.spines_per_pod * leaves_per_pod_;
}

Tier FatTree::tier_between(core::DeviceId a, core::DeviceId b) const {
  const std::uint32_t leaf_a = leaf_of(a), leaf_b = leaf_of(b);
  if (leaf_a == leaf_b) return Tier::leaf;
  return leaf_a / leaves_per_pod_ == leaf_b / leaves_per_pod_ ? Tier::pod : Tier::core;
}

Path FatTree::path(Tier tier) {
  EXAWARP_CHECK(tier != Tier::node);
  const auto level = static_cast<std::uint32_t>(tier);
  return {.switches = 2 * level - 1, .links = 2 * level};
}

}  // namespace exawarp::model
