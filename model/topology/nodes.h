// Nodes of n devices on NVSwitch planes, and a network of any family across nodes.
//
//   node of a device   device / n, consecutive ids; the last node may be partly filled
//   ports of a device  its NVSwitch planes in order (none where n = 1), then those across
//   switches           those across, then node by node its planes
//   NVSwitch           port i leads to the node's i-th device
//
// Routes: inside a node over NVSwitch, else across; never over both, unless rails cross by NVLink:
// then a message to another local rank of another node goes over NVSwitch to the own node's device
// of that rank first, and across behind it. Deadlock freedom: NVSwitch before across, never
// behind it. Halves: those of the network across, whose capacity alone counts where there are
// several nodes; floor(n / 2) devices against the others in a single one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/topology/layout.h"
#include "model/topology/support.h"

namespace exawarp::model {

struct NodesSpec {
  std::string name{};
  std::uint32_t devices = 8;               // of a node
  std::uint32_t planes = 1;                // parallel switches, which share the bandwidth
  std::int64_t bandwidth_bytes_per_s = 0;  // per device and direction, as achieved
  core::Time latency{};                    // end to end, one message: half of it on each link
  bool rails_cross_nvlink = false;
};

class Nodes final : public Topology {
 public:
  // Requires across->devices() >= 1, and whole nodes where rails cross by NVLink.
  Nodes(const NodesSpec& spec, std::unique_ptr<Topology> across);

  [[nodiscard]] const Topology& across() const { return *across_; }

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] std::uint32_t devices() const override { return devices_; }
  [[nodiscard]] std::uint32_t switches() const override {
    return across_switches_ + nodes_ * planes_;
  }
  [[nodiscard]] std::span<const LinkKind> link_kinds() const override { return kinds_; }
  [[nodiscard]] std::uint32_t ports(VertexId v) const override;
  [[nodiscard]] Link link(VertexId v, std::uint32_t port) const override;
  [[nodiscard]] bool devices_forward() const override {
    return cross_nvlink_ || across_->devices_forward();
  }
  [[nodiscard]] core::Time forwarding_latency(VertexId v) const override;
  [[nodiscard]] PortChoices minimal(VertexId at, VertexId to) const override;
  [[nodiscard]] PortChoices onward(VertexId at, VertexId to) const override;
  [[nodiscard]] std::uint32_t spread(VertexId at, VertexId to) const override;
  [[nodiscard]] MessageRoute message_route(core::DeviceId a, core::DeviceId b) const override;
  [[nodiscard]] std::span<const Distance> distances() const override { return distances_; }
  [[nodiscard]] core::Time least_latency(std::uint32_t atom_shift) const override;
  [[nodiscard]] bool every_port_is_safe() const override { return across_->every_port_is_safe(); }
  [[nodiscard]] std::uint32_t virtual_channels() const override {
    return across_->virtual_channels();
  }
  [[nodiscard]] std::uint32_t next_channel(VertexId at, std::uint32_t in_port,
                                           std::uint32_t out_port,
                                           std::uint32_t vc) const override;
  [[nodiscard]] std::uint32_t waypoints(core::DeviceId from, core::DeviceId to) const override;
  [[nodiscard]] VertexId waypoint(core::DeviceId from, core::DeviceId to,
                                  std::uint32_t index) const override;
  [[nodiscard]] TopologyCounts counts() const override;

 private:
  [[nodiscard]] bool is_nvswitch(VertexId v) const {
    return v.value >= devices_ + across_switches_;
  }
  [[nodiscard]] std::uint32_t node_of_nvswitch(VertexId v) const {
    return (v.value - devices_ - across_switches_) / planes_;
  }
  [[nodiscard]] std::uint32_t devices_of(std::uint32_t node) const;
  [[nodiscard]] bool same_node(std::uint32_t a, std::uint32_t b) const {
    return layout_.same_node({a}, {b});
  }
  [[nodiscard]] PortChoices ports_across(VertexId device, VertexId to) const;
  // Whether the way from device `a` to `b` of another node begins on NVSwitch.
  [[nodiscard]] bool crosses_first(std::uint32_t a, std::uint32_t b) const {
    return cross_nvlink_ && layout_.place_in_node({a}) != layout_.place_in_node({b});
  }

  std::unique_ptr<Topology> across_;
  std::uint32_t devices_, across_switches_;
  NodeLayout layout_;
  std::uint32_t nodes_;
  std::uint32_t planes_;  // 0 where a node has one device
  bool cross_nvlink_;
  std::vector<LinkKind> kinds_;  // NVLink, then those across
  core::Time forwarding_;
  std::vector<Distance> distances_;  // NVSwitch, across, NVSwitch and across
};

}  // namespace exawarp::model
