// The interconnect at message fidelity: which interface a message uses and how long it travels.
//
//   latency(node)             = node latency, end to end
//   latency(leaf, pod, core)  = endpoint + switches * switch_latency + links * link_latency, over
//                               1, 3 or 5 switches and 2, 4 or 6 links (path_over_tier)
//   latency of a topology     = endpoint + that of its path, by class of Topology::distances()
//   time on an interface      = max(1 ps, bytes / bandwidth), rounded up
//   lag                       = what the slowest link of the way takes longer than the interface
//
// A device has an interface into its node and one or several out of it, each with clocks of its
// own. Where a topology gives it equal ports that all lead everywhere (planes, several leaves), a
// message takes one by a hash of who talks to whom and of the connection (queue pair) between them,
// at both ends the same. Where ports lead to different places (a torus, a fully connected network,
// dimensions of a product), it leaves by the first one of its deterministic route and arrives by
// the last. Nodes on a fat tree, which a study has that names no topology, are told apart by the
// inlined functions of their layout; a topology asks virtual ones, once a channel of a ring, once a
// message otherwise, and once more where there are several ports.
//
// A message occupies an interface for at least 1 ps, so that no two messages leave or arrive
// through one interface at the same instant and their order is never a tie.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/ids.h"
#include "core/time.h"
#include "model/collective/ring.h"
#include "model/topology/fabric.h"
#include "model/topology/layout.h"

namespace exawarp::model {

// A device's interfaces, each with a send and a receive side (full duplex). Further ones out of the
// node follow scale_out, and are like it.
enum class Interface : std::uint16_t { node, scale_out };
constexpr std::uint32_t kInterfaceCount = 2;  // kinds of them
constexpr std::uint32_t kRailsMax = 8;        // out of a node

// By which interfaces a message leaves its sender and comes to its receiver.
struct Ends {
  Interface out, in;
};

constexpr Interface interface_of(Tier tier) {
  return tier == Tier::node ? Interface::node : Interface::scale_out;
}

// Whether all ports of a device across nodes have to have one rate: messages know one interface
// there. Where packets take their place the slowest port's rate stands for choosing algorithms.
enum class PortRates : std::uint8_t { one, any };

class Network {
 public:
  // Throws core::InputError where a figure of `fabric` is missing or out of range, and where there
  // is no such topology of so many devices, or one that this fidelity cannot represent.
  Network(const Fabric& fabric, std::uint32_t devices, PortRates rates = PortRates::one);

  // With a topology, a class of paths: Tier::node inside a node, any other value across.
  [[nodiscard]] Tier tier_between(core::DeviceId a, core::DeviceId b) const {
    if (layout_.same_node(a, b)) return Tier::node;
    if (topology_ != nullptr) [[unlikely]] {
      return static_cast<Tier>(topology_->message_route(a, b).distance + first_class_);
    }
    return tree_->tier_between(a, b);
  }
  // All tiers are below this.
  [[nodiscard]] std::size_t tiers() const { return latency_.size(); }
  [[nodiscard]] core::Time latency(Tier tier) const {
    return latency_[static_cast<std::size_t>(tier)];
  }
  // From when a message's tail, which took `wire` on its interface, has left to its arrival.
  [[nodiscard]] core::Time travel(Tier tier, core::Time wire) const {
    return slowest_.empty() ? latency(tier) : core::sum_to_end(latency(tier), lag(tier, wire));
  }
  [[nodiscard]] core::Time wire_time(std::int64_t bytes, Interface interface) const {
    const std::int64_t rate = bandwidth_bytes_per_s_[static_cast<std::size_t>(interface)];
    return std::max(core::Time{1}, core::transfer_time(bytes, rate));
  }
  // Whether any two devices talk by it.
  [[nodiscard]] bool uses(Interface interface) const {
    return interface == Interface::node ? std::min(devices_, layout_.devices()) > 1
                                        : devices_ > layout_.devices();
  }
  // Interfaces of a device out of its node, except the first.
  [[nodiscard]] std::uint32_t further_interfaces() const { return further_; }
  // Interfaces of a device of this kind.
  [[nodiscard]] std::uint32_t ports(Interface interface) const {
    return interface == Interface::node ? 1 : 1 + further_;
  }
  // Whether all of the further ones lead everywhere.
  [[nodiscard]] bool has_rails() const { return rails_ > 1; }
  // `connection` tells messages between the same devices apart, where they may take several
  // interfaces.
  [[nodiscard]] Ends ends_of(Interface interface, core::DeviceId a, core::DeviceId b,
                             std::uint32_t connection) const {
    if (further_ == 0 || interface == Interface::node) [[likely]] return {interface, interface};
    return ends_across(a, b, connection);
  }
  [[nodiscard]] std::int64_t bandwidth(Interface interface) const {
    return bandwidth_bytes_per_s_[static_cast<std::size_t>(interface)];
  }
  // The least latency between devices of different atoms: the model's lookahead.
  [[nodiscard]] core::Time least_latency_between_atoms() const;

  // Of any message between two devices.
  [[nodiscard]] core::Time least_latency() const {
    return *std::min_element(latency_.begin(), latency_.end());
  }

  // A step between the farthest devices: what algorithms are chosen by.
  [[nodiscard]] StepCost step_cost() const {
    return {latency_.back(), bandwidth_bytes_per_s_.back()};
  }

  // How long a line knows how busy it was (line.h): longer than most messages take, and in
  // proportion to the network's times.
  [[nodiscard]] core::Time line_memory() const { return 256 * latency_.back(); }

  // All interfaces and links carry `bandwidth` times as much, and all latencies are divided by
  // `latency`, rounded up. Both are 1 at least.
  void make_faster(std::int64_t bandwidth, std::int64_t latency);

  // Whether a link of the way is slower than the interfaces at its ends.
  [[nodiscard]] bool lags(Tier tier) const {
    return !slowest_.empty() &&
           slowest_[static_cast<std::size_t>(tier)] < bandwidth(interface_of(tier));
  }

  // A message between devices this far apart.
  [[nodiscard]] StepCost cost_of(Tier tier) const {
    const auto interface = static_cast<std::size_t>(interface_of(tier));
    return {latency(tier), slowest_.empty() ? bandwidth_bytes_per_s_[interface]
                                            : slowest_[static_cast<std::size_t>(tier)]};
  }

  [[nodiscard]] const NodeLayout& layout() const { return layout_; }
  // The layout of the tree that the nodes are on; null where there is a topology.
  [[nodiscard]] const LeafLayout* tree() const { return tree_ ? &*tree_ : nullptr; }
  // Those of the fat tree, or all of a topology.
  [[nodiscard]] std::uint32_t switches() const { return switches_; }

 private:
  [[nodiscard]] core::Time lag(Tier tier, core::Time wire) const;
  [[nodiscard]] Ends ends_across(core::DeviceId a, core::DeviceId b,
                                 std::uint32_t connection) const;
  void use_tree(const Fabric& fabric);
  void find_slow_paths();
  void use_topology(const Fabric& fabric, PortRates rates);

  NodeLayout layout_;
  std::optional<LeafLayout> tree_;            // where there is no topology
  std::shared_ptr<const Topology> topology_;
  std::uint32_t first_class_ = 0;             // of the topology's distances, as a Tier
  std::uint32_t devices_;
  std::uint32_t switches_ = 0;
  std::uint32_t rails_ = 1;       // ports that all lead everywhere
  std::uint32_t first_port_ = 0;  // of a device that leads out of its node
  std::uint32_t further_ = 0;
  core::Time least_across_;                   // between devices of different nodes
  std::vector<core::Time> latency_;           // by Tier; at least kTierCount, the farthest last
  std::array<std::int64_t, kInterfaceCount> bandwidth_bytes_per_s_;
  std::vector<std::int64_t> slowest_;  // bytes/s by Tier; empty: no way is slower than a port
};

}  // namespace exawarp::model
