// Who shares a node, a leaf switch and a pod with whom, as functions of ids: what the families
// Nodes and Clos lay their devices out by, in a form small enough to inline where every message
// asks for it. Ids are consecutive below each node, leaf and pod.
#pragma once

#include <bit>
#include <cstdint>

#include "core/check.h"
#include "core/ids.h"

namespace exawarp::model {

class NodeLayout {
 public:
  // Requires devices >= 1.
  explicit NodeLayout(std::uint32_t devices) : devices_(devices) { EXAWARP_CHECK(devices_ >= 1); }

  [[nodiscard]] std::uint32_t devices() const { return devices_; }  // of a node
  [[nodiscard]] std::uint32_t node_of(core::DeviceId device) const {
    return device.value / devices_;
  }
  [[nodiscard]] std::uint32_t place_in_node(core::DeviceId device) const {
    return device.value % devices_;
  }
  [[nodiscard]] bool same_node(core::DeviceId a, core::DeviceId b) const {
    return node_of(a) == node_of(b);
  }
  // Devices of an atom, as a power of two: a node's, or one where a node is no power of two.
  [[nodiscard]] std::uint32_t atom_shift() const {
    return std::has_single_bit(devices_) ? static_cast<std::uint32_t>(std::countr_zero(devices_))
                                         : 0;
  }

 private:
  std::uint32_t devices_;
};

// How far apart two devices on a fat tree are: the smallest of these that they share. The path
// between them goes up to that tier and down again. Where message fidelity has another network, it
// numbers the classes of its distances in this type, too.
enum class Tier : std::uint16_t { node, leaf, pod, core };
constexpr std::uint32_t kTierCount = 4;

class LeafLayout {
 public:
  // Requires both >= 1.
  LeafLayout(std::uint32_t devices_of_a_leaf, std::uint32_t leaves_of_a_pod)
      : devices_(devices_of_a_leaf), leaves_(leaves_of_a_pod) {
    EXAWARP_CHECK(devices_ >= 1 && leaves_ >= 1, devices_, leaves_);
  }

  [[nodiscard]] std::uint32_t devices() const { return devices_; }  // below a leaf
  [[nodiscard]] std::uint32_t leaves() const { return leaves_; }    // of a pod
  [[nodiscard]] std::uint32_t leaf_of(core::DeviceId d) const { return d.value / devices_; }
  [[nodiscard]] std::uint32_t place_below_leaf(core::DeviceId d) const {
    return d.value % devices_;
  }
  [[nodiscard]] std::uint32_t pod_of_leaf(std::uint32_t leaf) const { return leaf / leaves_; }
  [[nodiscard]] std::uint32_t pod_of(core::DeviceId d) const { return pod_of_leaf(leaf_of(d)); }

  // leaf, pod or core.
  [[nodiscard]] Tier tier_between_leaves(std::uint32_t a, std::uint32_t b) const {
    if (a == b) return Tier::leaf;
    return pod_of_leaf(a) == pod_of_leaf(b) ? Tier::pod : Tier::core;
  }
  // Requires devices of different nodes.
  [[nodiscard]] Tier tier_between(core::DeviceId a, core::DeviceId b) const {
    return tier_between_leaves(leaf_of(a), leaf_of(b));
  }

 private:
  std::uint32_t devices_, leaves_;
};

}  // namespace exawarp::model
