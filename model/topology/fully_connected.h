// Every device wired to every other one.
//
//   ports     device d's port p leads to device p, or p + 1 from d on
//   halves    floor(devices / 2) devices against the others
//
// Deadlock freedom: a packet continues in channel 1 after a waypoint.
#pragma once

#include <cstdint>

#include "model/topology/support.h"

namespace exawarp::model {

struct FullyConnectedSpec {
  LinkKind link{};
  NodeLatencies latencies{};
};

class FullyConnected final : public Topology {
 public:
  // Requires devices >= 1.
  FullyConnected(const FullyConnectedSpec& spec, std::uint32_t devices);

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] std::uint32_t devices() const override { return devices_; }
  [[nodiscard]] std::uint32_t switches() const override { return 0; }
  [[nodiscard]] std::span<const LinkKind> link_kinds() const override { return {&link_, 1}; }
  [[nodiscard]] std::uint32_t ports(VertexId) const override { return devices_ - 1; }
  [[nodiscard]] Link link(VertexId v, std::uint32_t port) const override;
  [[nodiscard]] bool devices_forward() const override { return true; }
  [[nodiscard]] core::Time forwarding_latency(VertexId) const override { return forwarding_; }
  [[nodiscard]] PortChoices minimal(VertexId at, VertexId to) const override;
  [[nodiscard]] MessageRoute message_route(core::DeviceId a, core::DeviceId b) const override;
  [[nodiscard]] std::span<const Distance> distances() const override { return {&distance_, 1}; }
  [[nodiscard]] core::Time least_latency(std::uint32_t atom_shift) const override;
  [[nodiscard]] std::uint32_t virtual_channels() const override { return 2; }
  [[nodiscard]] std::uint32_t next_channel(VertexId at, std::uint32_t in_port,
                                           std::uint32_t out_port,
                                           std::uint32_t vc) const override;
  [[nodiscard]] std::uint32_t waypoints(core::DeviceId, core::DeviceId) const override;
  [[nodiscard]] VertexId waypoint(core::DeviceId from, core::DeviceId to,
                                  std::uint32_t index) const override;
  [[nodiscard]] TopologyCounts counts() const override;

 private:
  std::uint32_t devices_;
  LinkKind link_;
  core::Time forwarding_;
  Distance distance_;
};

}  // namespace exawarp::model
