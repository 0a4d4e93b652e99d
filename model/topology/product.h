// A hierarchical product of networks, as ASTRA-sim's multi-dimensional ones: device ids are mixed
// radix numbers, one digit a dimension, the first varying fastest,
//
//   device = c_0 + n_0 (c_1 + n_1 (c_2 + ...))
//
// and each dimension is an independent network of any family among the devices that differ in that
// coordinate alone, with ports of its own at each device. So there are devices / n_i copies of
// dimension i's network. A message between devices that differ in several coordinates passes
// dimension after dimension, and devices forward it in between.
//
//   ports of a device   dimension by dimension
//   switches            dimension by dimension, copy by copy (copies in the order of the other
//                       digits)
//   minimal             every dimension that still differs; the first dimension first
//   halves              the dimension's that gives the least, in all its copies
//
// Deadlock freedom, taking the first port: dimensions in order, each free by itself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/topology/support.h"

namespace exawarp::model {

class Product final : public Topology {
 public:
  static constexpr std::size_t kDimsMax = 8;
  static constexpr std::uint32_t kDistancesMax = 1u << 16;

  // Of what these dimensions' distances() would become; 2^16 at most.
  static std::uint64_t distances_of(std::span<const std::unique_ptr<Topology>> dims);

  // Requires 1 to kDimsMax dimensions with distances_of() <= kDistancesMax. `forwarding` is what a
  // device takes to pass a message on; dimensions whose devices forward have it, too.
  Product(std::vector<std::unique_ptr<Topology>> dims, core::Time forwarding);

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] std::uint32_t devices() const override { return devices_; }
  [[nodiscard]] std::uint32_t switches() const override { return switches_; }
  [[nodiscard]] std::span<const LinkKind> link_kinds() const override { return kinds_; }
  [[nodiscard]] std::uint32_t ports(VertexId v) const override;
  [[nodiscard]] Link link(VertexId v, std::uint32_t port) const override;
  [[nodiscard]] bool devices_forward() const override { return true; }
  [[nodiscard]] core::Time forwarding_latency(VertexId v) const override;
  [[nodiscard]] PortChoices minimal(VertexId at, VertexId to) const override;
  [[nodiscard]] std::uint32_t spread(VertexId at, VertexId to) const override;
  [[nodiscard]] MessageRoute message_route(core::DeviceId a, core::DeviceId b) const override;
  [[nodiscard]] std::span<const Distance> distances() const override { return distances_; }
  [[nodiscard]] core::Time least_latency(std::uint32_t atom_shift) const override;
  [[nodiscard]] bool every_port_is_safe() const override;
  [[nodiscard]] std::uint32_t virtual_channels() const override;
  [[nodiscard]] std::uint32_t next_channel(VertexId at, std::uint32_t in_port,
                                           std::uint32_t out_port,
                                           std::uint32_t vc) const override;
  [[nodiscard]] std::uint32_t waypoints(core::DeviceId, core::DeviceId) const override { return 0; }
  [[nodiscard]] VertexId waypoint(core::DeviceId, core::DeviceId to, std::uint32_t) const override {
    return {to.value};
  }
  [[nodiscard]] TopologyCounts counts() const override;

 private:
  struct Dimension {
    std::unique_ptr<Topology> network;
    std::uint32_t size, stride;
    std::uint32_t first_switch;  // of the product's
    std::uint32_t first_distance_factor;
    std::uint8_t first_kind;
  };
  // A vertex as its dimension's network sees it.
  struct Local {
    std::uint32_t dim;
    std::uint32_t copy;
    VertexId vertex;
  };
  [[nodiscard]] Local of_switch(VertexId v) const;
  [[nodiscard]] VertexId of_device(std::uint32_t dim, std::uint32_t device) const {
    return {device / dims_[dim].stride % dims_[dim].size};
  }
  [[nodiscard]] std::uint32_t copy_of(std::uint32_t dim, std::uint32_t device) const;
  [[nodiscard]] VertexId global(const Local& local) const;
  [[nodiscard]] std::uint32_t first_port(std::uint32_t dim, std::uint32_t device) const;
  [[nodiscard]] std::uint32_t dim_of_port(std::uint32_t device, std::uint32_t& port) const;
  void list_distances();

  std::vector<Dimension> dims_;
  core::Time forwarding_;
  std::uint32_t devices_ = 1, switches_ = 0;
  std::vector<LinkKind> kinds_;
  std::vector<Distance> distances_;  // by mixed radix of each dimension's, none first; less one
};

}  // namespace exawarp::model
