// Any graph a user brings, as a list of links. The one family with tables: routes are computed by
// breadth-first search when it is built, V x D distances for V vertices and D devices (which is why
// it has limits), and one class of distance for each pair of devices.
//
//   ports      in the order of the links in the list
//   minimal    fewest links; devices forward only where the graph says so. At most sixteen runs of
//              adjacent ports, the first ones
//   halves     floor(devices / 2) lowest ids against the others: the maximum flow between them
//
// Deadlock freedom: a packet takes each further link in the next channel, as many as the longest
// minimal route has links.
#pragma once

#include <string>
#include <vector>

#include "model/topology/support.h"

namespace exawarp::model {

struct GraphSpec {
  struct Wire {
    VertexId a, b;
    std::uint8_t kind;
  };
  std::uint32_t devices = 0, switches = 0;
  std::vector<LinkKind> kinds{};
  std::vector<Wire> wires{};
  bool devices_forward = false;
  NodeLatencies latencies{};
};

class Graph final : public Topology {
 public:
  static constexpr std::uint32_t kDevicesMax = 2'048;
  static constexpr std::uint32_t kVerticesMax = 8'192;

  // Requires wires between different vertices of the graph and counts within the limits.
  // Throws core::InputError, starting with `place`, where two devices have no path.
  Graph(const GraphSpec& spec, const std::string& place);

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] std::uint32_t devices() const override { return devices_; }
  [[nodiscard]] std::uint32_t switches() const override { return switches_; }
  [[nodiscard]] std::span<const LinkKind> link_kinds() const override { return kinds_; }
  [[nodiscard]] std::uint32_t ports(VertexId v) const override {
    return first_port_[v.value + 1] - first_port_[v.value];
  }
  [[nodiscard]] Link link(VertexId v, std::uint32_t port) const override {
    return links_[first_port_[v.value] + port];
  }
  [[nodiscard]] bool devices_forward() const override { return devices_forward_; }
  [[nodiscard]] core::Time forwarding_latency(VertexId v) const override {
    return is_device(v) && !devices_forward_ ? core::Time{} : forwarding_;
  }
  [[nodiscard]] PortChoices minimal(VertexId at, VertexId to) const override;
  [[nodiscard]] std::uint32_t spread(VertexId, VertexId to) const override { return to.value; }
  [[nodiscard]] MessageRoute message_route(core::DeviceId a, core::DeviceId b) const override;
  [[nodiscard]] std::span<const Distance> distances() const override { return distances_; }
  [[nodiscard]] core::Time least_latency(std::uint32_t atom_shift) const override;
  [[nodiscard]] std::uint32_t virtual_channels() const override { return channels_; }
  [[nodiscard]] std::uint32_t next_channel(VertexId at, std::uint32_t in_port, std::uint32_t,
                                           std::uint32_t vc) const override {
    return in_port == ports(at) ? 0 : std::min(vc + 1, channels_ - 1);
  }
  [[nodiscard]] std::uint32_t waypoints(core::DeviceId, core::DeviceId) const override { return 0; }
  [[nodiscard]] VertexId waypoint(core::DeviceId, core::DeviceId to, std::uint32_t) const override {
    return {to.value};
  }
  [[nodiscard]] TopologyCounts counts() const override;

 private:
  using Hops = std::uint16_t;
  static constexpr Hops kFar = 0xffff;

  void wire_up(const GraphSpec& spec);
  void search_from(VertexId device);
  void list_distances(core::Time endpoint);
  [[nodiscard]] Hops hops(VertexId from, VertexId to_device) const {
    return hops_[std::size_t{to_device.value} * (devices_ + switches_) + from.value];
  }
  [[nodiscard]] std::uint32_t first_minimal(VertexId at, VertexId to) const;

  std::uint32_t devices_, switches_;
  std::vector<LinkKind> kinds_;
  bool devices_forward_;
  core::Time forwarding_;
  std::vector<std::uint32_t> first_port_;
  std::vector<Link> links_;
  std::vector<Hops> hops_;                // by destination device, then vertex
  std::vector<Distance> distances_;
  std::vector<std::uint16_t> distance_of_;  // of a pair of devices
  std::uint32_t channels_ = 1;
};

}  // namespace exawarp::model
