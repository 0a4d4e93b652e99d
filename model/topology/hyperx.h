// HyperX (Ahn et al., SC 2009): switches at the points of a lattice, each wired to all others of
// its row in every dimension. One dimension is a full mesh of switches; a flattened butterfly has
// two or more of the same size.
//
//   switch    c_0 + s_0 (c_1 + s_1 (c_2 + ...));  switch of a device: device / hosts
//   ports     its hosts; then, dimension by dimension, the others of the row in order, `width`
//             links to each
//   halves    of the dimension that gives the least: floor(s / 2) of it against the rest; half of
//             the hosts where there is one switch
//
// Deadlock freedom: each link between switches is taken in the next channel, so channels are ever
// ascending: as many as dimensions, twice that with a waypoint.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "model/topology/support.h"

namespace exawarp::model {

struct HyperXSpec {
  std::vector<std::uint32_t> dims{};
  std::vector<std::uint32_t> width{}; // parallel links of a pair, by dimension
  std::uint32_t hosts = 1;           // devices of a switch
  LinkKind host{}, between{};
  NodeLatencies latencies{};
};

class HyperX final : public Topology {
 public:
  static constexpr std::size_t kDimsMax = 8;

  // Requires 1 to kDimsMax dims and as many widths, all >= 1, and hosts >= 1.
  explicit HyperX(const HyperXSpec& spec);

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] std::uint32_t devices() const override { return switches_ * hosts_; }
  [[nodiscard]] std::uint32_t switches() const override { return switches_; }
  [[nodiscard]] std::span<const LinkKind> link_kinds() const override { return kinds_; }
  [[nodiscard]] std::uint32_t ports(VertexId v) const override;
  [[nodiscard]] Link link(VertexId v, std::uint32_t port) const override;
  [[nodiscard]] core::Time forwarding_latency(VertexId v) const override;
  [[nodiscard]] PortChoices minimal(VertexId at, VertexId to) const override;
  [[nodiscard]] std::uint32_t spread(VertexId at, VertexId to) const override;
  [[nodiscard]] MessageRoute message_route(core::DeviceId a, core::DeviceId b) const override;
  [[nodiscard]] std::span<const Distance> distances() const override { return distances_; }
  [[nodiscard]] core::Time least_latency(std::uint32_t atom_shift) const override;
  [[nodiscard]] std::uint32_t virtual_channels() const override;
  [[nodiscard]] std::uint32_t next_channel(VertexId at, std::uint32_t in_port,
                                           std::uint32_t out_port,
                                           std::uint32_t vc) const override;
  [[nodiscard]] std::uint32_t waypoints(core::DeviceId from, core::DeviceId to) const override;
  [[nodiscard]] VertexId waypoint(core::DeviceId from, core::DeviceId to,
                                  std::uint32_t index) const override;
  [[nodiscard]] TopologyCounts counts() const override;

 private:
  // The switch that `v` is, or hangs below.
  [[nodiscard]] std::uint32_t switch_of(VertexId v) const {
    return is_device(v) ? v.value / hosts_ : v.value - devices();
  }

  std::uint32_t dims_, hosts_;
  std::array<std::uint32_t, kDimsMax> size_{}, width_{}, stride_{};
  std::uint32_t switches_ = 1;
  std::uint32_t ports_ = 0;      // of a switch
  std::uint32_t real_dims_ = 0;  // those larger than 1
  std::array<LinkKind, 2> kinds_;
  core::Time forwarding_;
  std::uint32_t shortest_ = 0;  // links between switches of the nearest two devices
  std::vector<Distance> distances_;
};

}  // namespace exawarp::model
