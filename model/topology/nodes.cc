// NVSwitch planes put beside another network: ids and ports of that network are shifted behind the
// planes', and each question goes to the part that the pair of vertices belongs to.
#include "model/topology/nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace exawarp::model {

Nodes::Nodes(const NodesSpec& spec, std::unique_ptr<Topology> across)
    : across_(std::move(across)),
      devices_(across_->devices()),
      across_switches_(across_->switches()),
      layout_(spec.devices),
      nodes_(ceil_div(devices_, spec.devices)),
      planes_(spec.devices > 1 ? spec.planes : 0),
      cross_nvlink_(spec.rails_cross_nvlink) {
  EXAWARP_CHECK(spec.planes >= 1);
  EXAWARP_CHECK(!cross_nvlink_ || devices_ % spec.devices == 0, devices_, spec.devices);
  // Half of it on each link, but for a picosecond or two that the switch takes: trains need
  // switches that take some time to pass a packet on (PacketNetwork::trains()).
  const std::int64_t on_links = spec.latency.ps < 3 ? spec.latency.ps : spec.latency.ps - 1;
  const core::Time half{on_links / 2};
  forwarding_ = spec.latency - 2 * half;
  kinds_.push_back({"nvlink", spec.bandwidth_bytes_per_s / spec.planes, half});
  kinds_.insert(kinds_.end(), across_->link_kinds().begin(), across_->link_kinds().end());
  const Distance inside =
      path_over({{kinds_[0], 2}}, {.forwarding = forwarding_, .endpoint = {}});
  distances_.push_back(inside);
  const auto further = across_->distances();
  distances_.insert(distances_.end(), further.begin(), further.end());
  if (!cross_nvlink_ || spec.devices == 1) return;
  for (Distance d : further) {
    // The device between the two networks passes the message on at no cost of its own: what its
    // software takes is in the endpoints' latencies, which add up.
    d.latency += inside.latency;
    d.endpoint += inside.endpoint;
    d.links += inside.links;
    d.switches += inside.switches + 1;
    d.bandwidth_bytes_per_s = std::min(d.bandwidth_bytes_per_s, inside.bandwidth_bytes_per_s);
    distances_.push_back(d);
  }
}

std::string Nodes::name() const {
  return fmt::format("nodes of {} on NVSwitch; across: {}{}", layout_.devices(), across_->name(),
                     cross_nvlink_ ? "; between rails over NVSwitch" : "");
}

std::uint32_t Nodes::devices_of(std::uint32_t node) const {
  return std::min(layout_.devices(), devices_ - node * layout_.devices());
}

std::uint32_t Nodes::ports(VertexId v) const {
  if (is_device(v)) return planes_ + across_->ports(v);
  return is_nvswitch(v) ? devices_of(node_of_nvswitch(v)) : across_->ports(v);
}

Link Nodes::link(VertexId v, std::uint32_t port) const {
  EXAWARP_DCHECK(port < ports(v), v.value, port);
  if (is_nvswitch(v)) {
    const std::uint32_t plane = (v.value - devices_ - across_switches_) % planes_;
    return {{node_of_nvswitch(v) * layout_.devices() + port}, plane, 0};
  }
  if (is_device(v) && port < planes_) {
    const core::DeviceId device{v.value};
    return {{devices_ + across_switches_ + layout_.node_of(device) * planes_ + port},
            layout_.place_in_node(device),
            0};
  }
  Link out = across_->link(v, is_device(v) ? port - planes_ : port);
  if (is_device(out.peer)) out.peer_port += planes_;
  ++out.kind;
  return out;
}

core::Time Nodes::forwarding_latency(VertexId v) const {
  return is_nvswitch(v) ? forwarding_ : across_->forwarding_latency(v);
}

PortChoices Nodes::minimal(VertexId at, VertexId to) const {
  if (is_nvswitch(at)) {
    PortChoices out;
    // The device itself, or the own node's one of its rank.
    out.add(layout_.place_in_node({to.value}));
    return out;
  }
  if (!is_device(at)) return across_->minimal(at, to);
  PortChoices out;
  if (at == to) return out;
  if (is_device(to) && (same_node(at.value, to.value) || crosses_first(at.value, to.value))) {
    out.add(0, planes_);
    return out;
  }
  return ports_across(at, to);
}

// Where devices pass messages on, one of another node keeps to the network across to its end.
PortChoices Nodes::onward(VertexId at, VertexId to) const {
  const bool passes = is_device(at) && at != to && !cross_nvlink_ && across_->devices_forward();
  return passes ? ports_across(at, to) : minimal(at, to);
}

PortChoices Nodes::ports_across(VertexId device, VertexId to) const {
  PortChoices out;
  const PortChoices across = across_->minimal(device, to);
  for (const PortChoices::Range range : across.ranges()) {
    out.add(planes_ + range.first, range.count);
  }
  return out;
}

std::uint32_t Nodes::spread(VertexId at, VertexId to) const {
  if (is_nvswitch(at)) return 0;
  if (is_device(at) && is_device(to) &&
      (same_node(at.value, to.value) || crosses_first(at.value, to.value))) {
    return to.value;
  }
  return across_->spread(at, to);
}

MessageRoute Nodes::message_route(core::DeviceId a, core::DeviceId b) const {
  if (same_node(a.value, b.value)) {
    const auto plane = static_cast<std::uint16_t>((a.value + b.value) % planes_);
    return {0, plane, plane};
  }
  const auto shift = static_cast<std::uint16_t>(planes_);
  if (!crosses_first(a.value, b.value)) {
    const MessageRoute route = across_->message_route(a, b);
    return {static_cast<std::uint16_t>(1 + route.distance),
            static_cast<std::uint16_t>(route.tx_port + shift),
            static_cast<std::uint16_t>(route.rx_port + shift)};
  }
  const std::uint32_t between =
      layout_.node_of(a) * layout_.devices() + layout_.place_in_node(b);
  const MessageRoute route = across_->message_route({between}, b);
  const std::size_t distance = 1 + across_->distances().size() + route.distance;
  return {static_cast<std::uint16_t>(distance),
          static_cast<std::uint16_t>((a.value + b.value) % planes_),
          static_cast<std::uint16_t>(route.rx_port + shift)};
}

// Pairs of one node are left to NVSwitch where an atom is smaller than a node; then, with nodes of
// no power of two, the network across may give a bound below the least.
core::Time Nodes::least_latency(std::uint32_t atom_shift) const {
  const std::uint32_t n = layout_.devices(), node_shift = layout_.atom_shift();
  const core::Time inside = std::max(distances_[0].latency, core::Time{1});
  if (devices_ <= n && n > 1) return inside;
  const core::Time beyond = across_->least_latency(std::max(atom_shift, node_shift));
  const bool node_is_split = std::has_single_bit(n) ? atom_shift < node_shift : n > 1;
  return node_is_split ? std::min(inside, beyond) : beyond;
}

std::uint32_t Nodes::next_channel(VertexId at, std::uint32_t in_port, std::uint32_t out_port,
                                  std::uint32_t vc) const {
  if (is_nvswitch(at)) return 0;
  if (!is_device(at)) return across_->next_channel(at, in_port, out_port, vc);
  if (out_port < planes_) return 0;
  const bool starts_here = in_port < planes_ || in_port == ports(at);
  return across_->next_channel(at, starts_here ? across_->ports(at) : in_port - planes_,
                               out_port - planes_, starts_here ? 0 : vc);
}

std::uint32_t Nodes::waypoints(core::DeviceId from, core::DeviceId to) const {
  const bool across = !same_node(from.value, to.value) && !crosses_first(from.value, to.value);
  return across ? across_->waypoints(from, to) : 0;
}

VertexId Nodes::waypoint(core::DeviceId from, core::DeviceId to, std::uint32_t index) const {
  return across_->waypoint(from, to, index);
}

TopologyCounts Nodes::counts() const {
  TopologyCounts out = across_->counts();
  out.switches += std::uint64_t{nodes_} * planes_;
  out.links += std::uint64_t{devices_} * planes_;
  if (nodes_ == 1) {
    out.diameter_links = devices_ > 1 ? 2 : 0;
    out.bisection_bytes_per_s = WideRate{devices_ / 2} * planes_ * kinds_[0].bandwidth_bytes_per_s;
  } else {
    out.diameter_links = std::max(out.diameter_links, layout_.devices() > 1 ? 2u : 0u);
    for (const Distance& d : distances_) {
      if (cross_nvlink_) out.diameter_links = std::max(out.diameter_links, d.links);
    }
  }
  return out;
}

}  // namespace exawarp::model
