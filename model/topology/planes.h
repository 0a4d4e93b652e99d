// Several equal networks side by side over the same devices (dual-plane: Qian et al.: "Alibaba
// HPN", SIGCOMM 2024): a packet chooses its plane where it starts, and stays in it.
//
//   ports of a device   plane by plane
//   switches            plane by plane
//   halves              those of one plane
#pragma once

#include <memory>
#include <string>

#include "model/topology/support.h"

namespace exawarp::model {

class Planes final : public Topology {
 public:
  // Requires planes >= 1, and a network in which devices do not forward.
  Planes(std::uint32_t planes, std::unique_ptr<Topology> plane);

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] std::uint32_t devices() const override { return plane_->devices(); }
  [[nodiscard]] std::uint32_t switches() const override { return planes_ * plane_->switches(); }
  [[nodiscard]] std::span<const LinkKind> link_kinds() const override {
    return plane_->link_kinds();
  }
  [[nodiscard]] std::uint32_t ports(VertexId v) const override;
  [[nodiscard]] Link link(VertexId v, std::uint32_t port) const override;
  [[nodiscard]] core::Time forwarding_latency(VertexId v) const override {
    return plane_->forwarding_latency(in_plane(v));
  }
  [[nodiscard]] PortChoices minimal(VertexId at, VertexId to) const override;
  [[nodiscard]] std::uint32_t spread(VertexId at, VertexId to) const override;
  [[nodiscard]] MessageRoute message_route(core::DeviceId a, core::DeviceId b) const override;
  [[nodiscard]] std::span<const Distance> distances() const override { return plane_->distances(); }
  [[nodiscard]] core::Time least_latency(std::uint32_t atom_shift) const override {
    return plane_->least_latency(atom_shift);
  }
  [[nodiscard]] bool every_port_is_safe() const override { return plane_->every_port_is_safe(); }
  [[nodiscard]] std::uint32_t virtual_channels() const override {
    return plane_->virtual_channels();
  }
  [[nodiscard]] std::uint32_t next_channel(VertexId at, std::uint32_t in_port,
                                           std::uint32_t out_port,
                                           std::uint32_t vc) const override;
  [[nodiscard]] std::uint32_t waypoints(core::DeviceId, core::DeviceId) const override { return 0; }
  [[nodiscard]] VertexId waypoint(core::DeviceId, core::DeviceId to, std::uint32_t) const override {
    return {to.value};
  }
  [[nodiscard]] TopologyCounts counts() const override;

 private:
  [[nodiscard]] std::uint32_t plane_of(VertexId v) const {
    return (v.value - devices()) / plane_->switches();
  }
  // The vertex that stands for `v` in the one network that all planes are like.
  [[nodiscard]] VertexId in_plane(VertexId v) const {
    return is_device(v) ? v : VertexId{v.value - plane_of(v) * plane_->switches()};
  }

  std::uint32_t planes_;
  std::unique_ptr<Topology> plane_;
};

}  // namespace exawarp::model
