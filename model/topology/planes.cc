#include "model/topology/planes.h"

#include <fmt/format.h>

namespace exawarp::model {

Planes::Planes(std::uint32_t planes, std::unique_ptr<Topology> plane)
    : planes_(planes), plane_(std::move(plane)) {
  EXAWARP_CHECK(planes_ >= 1 && plane_->switches() >= 1, planes_);
}

std::string Planes::name() const {
  return fmt::format("{} planes, each {}", planes_, plane_->name());
}

std::uint32_t Planes::ports(VertexId v) const {
  return is_device(v) ? planes_ * plane_->ports(v) : plane_->ports(in_plane(v));
}

Link Planes::link(VertexId v, std::uint32_t port) const {
  EXAWARP_DCHECK(port < ports(v), v.value, port);
  if (!is_device(v)) {
    Link out = plane_->link(in_plane(v), port);
    if (is_device(out.peer)) {
      out.peer_port += plane_of(v) * plane_->ports(out.peer);
    } else {
      out.peer.value += plane_of(v) * plane_->switches();
    }
    return out;
  }
  const std::uint32_t of_a_plane = plane_->ports(v);
  Link out = plane_->link(v, port % of_a_plane);
  out.peer.value += port / of_a_plane * plane_->switches();
  return out;
}

PortChoices Planes::minimal(VertexId at, VertexId to) const {
  const PortChoices one = plane_->minimal(in_plane(at), to);
  if (!is_device(at)) return one;
  PortChoices out;
  for (std::uint32_t p = 0; p < planes_; ++p) {
    for (const PortChoices::Range range : one.ranges()) {
      out.add(p * plane_->ports(at) + range.first, range.count);
    }
  }
  return out;
}

std::uint32_t Planes::spread(VertexId at, VertexId to) const {
  const std::uint32_t inside = plane_->spread(in_plane(at), to);
  return is_device(at) ? inside : inside / planes_;  // the plane has used up the lowest digit
}

// As SingleSwitch: the sum spreads one device's messages over its peers' links and its own.
MessageRoute Planes::message_route(core::DeviceId a, core::DeviceId b) const {
  MessageRoute route = plane_->message_route(a, b);
  const std::uint32_t plane = (a.value + b.value) % planes_;
  route.tx_port = static_cast<std::uint16_t>(route.tx_port + plane * plane_->ports({a.value}));
  route.rx_port = static_cast<std::uint16_t>(route.rx_port + plane * plane_->ports({b.value}));
  return route;
}

std::uint32_t Planes::next_channel(VertexId at, std::uint32_t in_port, std::uint32_t out_port,
                                   std::uint32_t vc) const {
  if (!is_device(at)) return plane_->next_channel(in_plane(at), in_port, out_port, vc);
  const std::uint32_t of_a_plane = plane_->ports(at);
  return plane_->next_channel(at, of_a_plane, out_port % of_a_plane, 0);
}

TopologyCounts Planes::counts() const {
  TopologyCounts out = plane_->counts();
  out.switches *= planes_;
  out.links *= planes_;
  out.bisection_bytes_per_s *= planes_;
  return out;
}

}  // namespace exawarp::model
