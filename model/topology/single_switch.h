// Devices on one non-blocking switch, or on several parallel ones (planes), each with one link to
// every device.
//
//   device d       port i leads to switch i
//   switch         port d leads to device d
//   halves         floor(devices / 2) devices against the others
#pragma once

#include <array>
#include <cstdint>

#include "model/topology/support.h"

namespace exawarp::model {

struct SingleSwitchSpec {
  std::uint32_t planes = 1;
  LinkKind link{};
  NodeLatencies latencies{};
};

class SingleSwitch final : public Topology {
 public:
  // Requires devices, planes >= 1.
  SingleSwitch(const SingleSwitchSpec& spec, std::uint32_t devices);

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] std::uint32_t devices() const override { return devices_; }
  [[nodiscard]] std::uint32_t switches() const override { return planes_; }
  [[nodiscard]] std::span<const LinkKind> link_kinds() const override { return {&link_, 1}; }
  [[nodiscard]] std::uint32_t ports(VertexId v) const override;
  [[nodiscard]] Link link(VertexId v, std::uint32_t port) const override;
  [[nodiscard]] core::Time forwarding_latency(VertexId v) const override;
  [[nodiscard]] PortChoices minimal(VertexId at, VertexId to) const override;
  [[nodiscard]] std::uint32_t spread(VertexId at, VertexId to) const override;
  [[nodiscard]] MessageRoute message_route(core::DeviceId a, core::DeviceId b) const override;
  [[nodiscard]] std::span<const Distance> distances() const override { return {&distance_, 1}; }
  [[nodiscard]] core::Time least_latency(std::uint32_t atom_shift) const override;
  [[nodiscard]] std::uint32_t virtual_channels() const override { return 1; }
  [[nodiscard]] std::uint32_t next_channel(VertexId, std::uint32_t, std::uint32_t,
                                           std::uint32_t) const override {
    return 0;
  }
  [[nodiscard]] std::uint32_t waypoints(core::DeviceId, core::DeviceId) const override { return 0; }
  [[nodiscard]] VertexId waypoint(core::DeviceId, core::DeviceId to, std::uint32_t) const override {
    return {to.value};
  }
  [[nodiscard]] TopologyCounts counts() const override;

 private:
  std::uint32_t devices_, planes_;
  LinkKind link_;
  core::Time forwarding_;
  Distance distance_;
};

}  // namespace exawarp::model
