#include "model/topology/single_switch.h"

#include <fmt/format.h>

namespace exawarp::model {

SingleSwitch::SingleSwitch(const SingleSwitchSpec& spec, std::uint32_t devices)
    : devices_(devices),
      planes_(spec.planes),
      link_(spec.link),
      forwarding_(spec.latencies.forwarding),
      distance_(path_over({{link_, 2}}, spec.latencies)) {
  EXAWARP_CHECK(devices_ >= 1 && planes_ >= 1, devices_, planes_);
}

std::string SingleSwitch::name() const {
  return planes_ == 1 ? fmt::format("one switch, {} devices", devices_)
                      : fmt::format("{} parallel switches, {} devices", planes_, devices_);
}

std::uint32_t SingleSwitch::ports(VertexId v) const { return is_device(v) ? planes_ : devices_; }

Link SingleSwitch::link(VertexId v, std::uint32_t port) const {
  if (is_device(v)) return {vertex_of_switch(port), v.value, 0};
  return {{port}, v.value - devices_, 0};
}

core::Time SingleSwitch::forwarding_latency(VertexId v) const {
  return is_device(v) ? core::Time{} : forwarding_;
}

PortChoices SingleSwitch::minimal(VertexId at, VertexId to) const {
  PortChoices out;
  if (at == to) return out;
  if (is_device(at)) {
    out.add(0, planes_);
  } else {
    out.add(to.value);
  }
  return out;
}

std::uint32_t SingleSwitch::spread(VertexId, VertexId to) const { return to.value; }

// A message takes one plane: the sum spreads one device's messages over both its peers' and its
// own links.
MessageRoute SingleSwitch::message_route(core::DeviceId a, core::DeviceId b) const {
  const auto plane = static_cast<std::uint16_t>((a.value + b.value) % planes_);
  return {0, plane, plane};
}

core::Time SingleSwitch::least_latency(std::uint32_t) const {
  return std::max(distance_.latency, core::Time{1});
}

TopologyCounts SingleSwitch::counts() const {
  return {.switches = planes_,
          .links = std::uint64_t{devices_} * planes_,
          .diameter_links = devices_ > 1 ? 2u : 0u,
          .bisection_bytes_per_s =
              WideRate{devices_ / 2} * planes_ * link_.bandwidth_bytes_per_s};
}

}  // namespace exawarp::model
