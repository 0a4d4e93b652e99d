#include "model/topology/fully_connected.h"

#include <fmt/format.h>

namespace exawarp::model {
namespace {

constexpr std::uint32_t port_to(std::uint32_t device, std::uint32_t peer) {
  return peer < device ? peer : peer - 1;
}

}  // namespace

FullyConnected::FullyConnected(const FullyConnectedSpec& spec, std::uint32_t devices)
    : devices_(devices),
      link_(spec.link),
      forwarding_(spec.latencies.forwarding),
      distance_(path_over({{link_, 1}}, spec.latencies)) {
  EXAWARP_CHECK(devices_ >= 1);
}

std::string FullyConnected::name() const {
  return fmt::format("{} devices, fully connected", devices_);
}

Link FullyConnected::link(VertexId v, std::uint32_t port) const {
  const std::uint32_t peer = port < v.value ? port : port + 1;
  return {{peer}, port_to(peer, v.value), 0};
}

PortChoices FullyConnected::minimal(VertexId at, VertexId to) const {
  PortChoices out;
  if (at != to) out.add(port_to(at.value, to.value));
  return out;
}

MessageRoute FullyConnected::message_route(core::DeviceId a, core::DeviceId b) const {
  return {0, static_cast<std::uint16_t>(port_to(a.value, b.value)),
          static_cast<std::uint16_t>(port_to(b.value, a.value))};
}

core::Time FullyConnected::least_latency(std::uint32_t) const {
  return std::max(distance_.latency, core::Time{1});
}

std::uint32_t FullyConnected::next_channel(VertexId at, std::uint32_t in_port, std::uint32_t,
                                           std::uint32_t) const {
  return in_port == ports(at) ? 0 : 1;
}

std::uint32_t FullyConnected::waypoints(core::DeviceId, core::DeviceId) const {
  return devices_ - 2;
}

VertexId FullyConnected::waypoint(core::DeviceId from, core::DeviceId to,
                                  std::uint32_t index) const {
  return {skip_two(index, from.value, to.value)};
}

TopologyCounts FullyConnected::counts() const {
  const WideRate half = devices_ / 2;
  return {.links = std::uint64_t{devices_} * (devices_ - 1) / 2,
          .diameter_links = devices_ > 1 ? 1u : 0u,
          .bisection_bytes_per_s = half * (devices_ - half) * link_.bandwidth_bytes_per_s};
}

}  // namespace exawarp::model
