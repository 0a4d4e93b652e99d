// Tori and meshes of any dimensions, even or not: each device is wired to its neighbours and passes
// on what is not its own. A ring is a torus of one dimension.
//
//   device           c_0 + k_0 (c_1 + k_1 (c_2 + ...)): the first dimension varies fastest
//   ports            for each dimension in turn: up (c + 1), then down (c - 1), where they exist.
//                    A dimension of 2 has one link between its two devices, of 1 none
//   first port       dimension order: the first dimension first, up where both ways are equal
//   halves           the longest dimension k, floor(k / 2) of it against the rest
//
// Deadlock freedom (Dally, Seitz, IEEE Trans. Computers C-36, 1987): dimension order has no cycle
// between dimensions, and a packet changes to the odd channel of a pair where it crosses the wrap
// link (the dateline), so the ring of a dimension and direction has none either. A packet that
// breaks the order, as at most once behind a waypoint, goes on in the next pair of channels; so
// does one that would cross a dateline twice. A mesh has no dateline, and one channel instead of a
// pair.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/topology/support.h"

namespace exawarp::model {

struct TorusSpec {
  std::vector<std::uint32_t> dims{};
  bool wraps = true;  // false: a mesh
  LinkKind link{};
  NodeLatencies latencies{};
};

class Torus final : public Topology {
 public:
  static constexpr std::size_t kDimsMax = 8;

  // Requires 1 to kDimsMax dims, each >= 1.
  explicit Torus(const TorusSpec& spec);

  [[nodiscard]] std::span<const std::uint32_t> dims() const { return {size_.data(), dims_}; }

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] std::uint32_t devices() const override { return devices_; }
  [[nodiscard]] std::uint32_t switches() const override { return 0; }
  [[nodiscard]] std::span<const LinkKind> link_kinds() const override { return {&link_, 1}; }
  [[nodiscard]] std::uint32_t ports(VertexId v) const override;
  [[nodiscard]] Link link(VertexId v, std::uint32_t port) const override;
  [[nodiscard]] bool devices_forward() const override { return true; }
  [[nodiscard]] core::Time forwarding_latency(VertexId) const override { return forwarding_; }
  [[nodiscard]] PortChoices minimal(VertexId at, VertexId to) const override;
  [[nodiscard]] MessageRoute message_route(core::DeviceId a, core::DeviceId b) const override;
  [[nodiscard]] std::span<const Distance> distances() const override { return distances_; }
  [[nodiscard]] core::Time least_latency(std::uint32_t atom_shift) const override;
  [[nodiscard]] bool every_port_is_safe() const override;
  [[nodiscard]] std::uint32_t virtual_channels() const override { return wraps_ ? 4 : 2; }
  [[nodiscard]] std::uint32_t next_channel(VertexId at, std::uint32_t in_port,
                                           std::uint32_t out_port,
                                           std::uint32_t vc) const override;
  [[nodiscard]] std::uint32_t waypoints(core::DeviceId, core::DeviceId) const override;
  [[nodiscard]] VertexId waypoint(core::DeviceId from, core::DeviceId to,
                                  std::uint32_t index) const override;
  [[nodiscard]] TopologyCounts counts() const override;

 private:
  struct Step {
    std::uint32_t dim;
    bool up;
  };
  [[nodiscard]] std::uint32_t coordinate(VertexId v, std::uint32_t dim) const {
    return v.value / stride_[dim] % size_[dim];
  }
  [[nodiscard]] bool has(std::uint32_t dim, std::uint32_t c, bool up) const;
  [[nodiscard]] std::uint32_t port_of(VertexId v, Step step) const;
  [[nodiscard]] Step step_of(VertexId v, std::uint32_t port) const;
  [[nodiscard]] bool crosses_dateline(VertexId at, Step step) const;

  std::uint32_t dims_;
  std::array<std::uint32_t, kDimsMax> size_{}, stride_{};
  bool wraps_;
  std::uint32_t devices_ = 1;
  LinkKind link_;
  core::Time forwarding_;
  std::vector<Distance> distances_;  // of 1, 2, ... links
};

}  // namespace exawarp::model
