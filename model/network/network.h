// The interconnect at message fidelity: which interface a message uses and how long it travels.
//
//   latency(node)             = node latency, end to end
//   latency(leaf, pod, core)  = endpoint + switches * switch_latency + links * link_latency
//   time on an interface      = max(1 ps, bytes / bandwidth), rounded up
//
// A message occupies an interface for at least 1 ps, so that no two messages leave or arrive
// through one interface at the same instant and their order is never a tie.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/ids.h"
#include "core/time.h"
#include "model/collective/ring.h"
#include "model/network/fabric.h"
#include "model/topology/fat_tree.h"
#include "model/topology/node.h"

namespace exawarp::model {

// A device's interfaces, each with a send and a receive side (full duplex).
enum class Interface : std::uint8_t { node, scale_out };
constexpr std::uint32_t kInterfaceCount = 2;

constexpr Interface interface_of(Tier tier) {
  return tier == Tier::node ? Interface::node : Interface::scale_out;
}

class Network {
 public:
  // Throws core::InputError where a figure of `fabric` is missing or out of range.
  Network(const Fabric& fabric, std::uint32_t devices);

  [[nodiscard]] Tier tier_between(core::DeviceId a, core::DeviceId b) const {
    return layout_.same_node(a, b) ? Tier::node : tree_.tier_between(a, b);
  }
  [[nodiscard]] core::Time latency(Tier tier) const {
    return latency_[static_cast<std::size_t>(tier)];
  }
  [[nodiscard]] core::Time wire_time(std::int64_t bytes, Interface interface) const {
    const std::int64_t rate = bandwidth_bytes_per_s_[static_cast<std::size_t>(interface)];
    return std::max(core::Time{1}, core::transfer_time(bytes, rate));
  }
  // The least latency between devices of different atoms: the model's lookahead.
  [[nodiscard]] core::Time least_latency_between_atoms() const;

  // A step between the farthest devices: what algorithms are chosen by.
  [[nodiscard]] StepCost step_cost() const {
    return {latency(Tier::core), bandwidth_bytes_per_s_.back()};
  }

  // A message between devices this far apart.
  [[nodiscard]] StepCost cost_of(Tier tier) const {
    return {latency(tier), bandwidth_bytes_per_s_[static_cast<std::size_t>(interface_of(tier))]};
  }

  [[nodiscard]] const NodeLayout& layout() const { return layout_; }
  [[nodiscard]] const FatTree& tree() const { return tree_; }

 private:
  NodeLayout layout_;
  FatTree tree_;
  std::uint32_t devices_, devices_per_leaf_, leaves_per_pod_;
  std::array<core::Time, kTierCount> latency_;
  std::array<std::int64_t, kInterfaceCount> bandwidth_bytes_per_s_;
};

}  // namespace exawarp::model
