// Coordinates as digits of an id; a minimal route corrects dimension after dimension, the shorter
// way around, and the dateline of each ring decides the channel.
#include "model/topology/torus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace exawarp::model {

Torus::Torus(const TorusSpec& spec)
    : dims_(static_cast<std::uint32_t>(spec.dims.size())),
      wraps_(spec.wraps),
      link_(spec.link),
      forwarding_(spec.latencies.forwarding) {
  EXAWARP_CHECK(dims_ >= 1 && dims_ <= kDimsMax, dims_);
  std::uint32_t diameter = 0;
  for (std::uint32_t i = 0; i < dims_; ++i) {
    EXAWARP_CHECK(spec.dims[i] >= 1);
    size_[i] = spec.dims[i];
    stride_[i] = devices_;
    devices_ *= size_[i];
    diameter += wraps_ ? size_[i] / 2 : size_[i] - 1;
  }
  for (std::uint32_t links = 1; links <= diameter; ++links) {
    distances_.push_back(path_over({{link_, links}}, spec.latencies));
  }
}

std::string Torus::name() const {
  const std::span<const std::uint32_t> sizes(size_.data(), dims_);
  if (dims_ == 1 && wraps_) return fmt::format("ring of {} devices", devices_);
  return fmt::format("{} {}", wraps_ ? "torus" : "mesh", fmt::join(sizes, " x "));
}

// Whether a device with coordinate `c` has a port of its own in that direction.
bool Torus::has(std::uint32_t dim, std::uint32_t c, bool up) const {
  if (wraps_ && size_[dim] > 2) return true;
  return up ? c + 1 < size_[dim] : c > 0;
}

std::uint32_t Torus::port_of(VertexId v, Step step) const {
  std::uint32_t port = 0;
  for (std::uint32_t i = 0; i < step.dim; ++i) {
    const std::uint32_t c = coordinate(v, i);
    port += std::uint32_t{has(i, c, true)} + std::uint32_t{has(i, c, false)};
  }
  return port + (!step.up && has(step.dim, coordinate(v, step.dim), true) ? 1u : 0u);
}

Torus::Step Torus::step_of(VertexId v, std::uint32_t port) const {
  for (std::uint32_t i = 0; i < dims_; ++i) {
    const std::uint32_t c = coordinate(v, i);
    for (const bool up : {true, false}) {
      if (!has(i, c, up)) continue;
      if (port-- == 0) return {i, up};
    }
  }
  EXAWARP_CHECK(false, v.value, port);
  return {};
}

std::uint32_t Torus::ports(VertexId v) const {
  return port_of(v, {dims_ - 1, false}) +
         (has(dims_ - 1, coordinate(v, dims_ - 1), false) ? 1u : 0u);
}

bool Torus::crosses_dateline(VertexId at, Step step) const {
  const std::uint32_t c = coordinate(at, step.dim);
  return size_[step.dim] > 2 && (step.up ? c + 1 == size_[step.dim] : c == 0);
}

Link Torus::link(VertexId v, std::uint32_t port) const {
  const Step step = step_of(v, port);
  const std::uint32_t c = coordinate(v, step.dim), k = size_[step.dim];
  const std::uint32_t there = step.up ? (c + 1 == k ? 0 : c + 1) : (c == 0 ? k - 1 : c - 1);
  const VertexId peer{v.value - c * stride_[step.dim] + there * stride_[step.dim]};
  return {peer, port_of(peer, {step.dim, !step.up}), 0};
}

PortChoices Torus::minimal(VertexId at, VertexId to) const {
  PortChoices out;
  std::uint32_t port = 0, rest_at = at.value, rest_to = to.value;
  for (std::uint32_t i = 0; i < dims_ && rest_at != rest_to; ++i) {
    const std::uint32_t k = size_[i], c = rest_at % k, t = rest_to % k;
    rest_at /= k;
    rest_to /= k;
    const bool has_up = has(i, c, true), has_down = has(i, c, false);
    if (c != t) {
      const bool around = wraps_ && k > 2;
      const std::uint32_t up = t > c ? t - c : t + k - c;
      if (around ? up <= k - up : t > c) out.add(port);
      if (around ? k - up <= up : t < c) out.add(port + (has_up ? 1u : 0u));
    }
    port += std::uint32_t{has_up} + std::uint32_t{has_down};
  }
  return out;
}

MessageRoute Torus::message_route(core::DeviceId a, core::DeviceId b) const {
  const VertexId from{a.value}, to{b.value};
  std::uint32_t links = 0;
  Step last{};
  for (std::uint32_t i = 0; i < dims_; ++i) {
    const std::uint32_t k = size_[i], c = coordinate(from, i), t = coordinate(to, i);
    if (c == t) continue;
    const std::uint32_t up = t > c ? t - c : t + k - c;
    const bool goes_up = wraps_ && k > 2 ? up <= k - up : t > c;
    links += goes_up ? (t > c ? t - c : up) : (c > t ? c - t : k - up);
    last = {i, goes_up};
  }
  return {static_cast<std::uint16_t>(links - 1),
          static_cast<std::uint16_t>(minimal(from, to)[0]),
          static_cast<std::uint16_t>(port_of(to, {last.dim, !last.up}))};
}

core::Time Torus::least_latency(std::uint32_t atom_shift) const {
  std::vector<std::uint32_t> strides;
  for (std::uint32_t i = 0; i < dims_; ++i) {
    if (size_[i] == 1) continue;
    strides.push_back(stride_[i]);
    if (wraps_) strides.push_back(stride_[i] * (size_[i] - 1));
  }
  return least_latency_over(*this, atom_shift, strides);
}

bool Torus::every_port_is_safe() const {
  return std::ranges::count_if(size_, [](std::uint32_t k) { return k > 1; }) <= 1;
}

std::uint32_t Torus::next_channel(VertexId at, std::uint32_t in_port, std::uint32_t out_port,
                                  std::uint32_t vc) const {
  const Step out = step_of(at, out_port);
  const std::uint32_t channels_a_leg = wraps_ ? 2 : 1;
  const std::uint32_t crossing = wraps_ && crosses_dateline(at, out) ? 1 : 0;
  if (in_port == ports(at)) return crossing;
  const Step in = step_of(at, in_port);
  const std::uint32_t leg = vc / channels_a_leg, crossed = vc % channels_a_leg;
  const bool straight_on = in.dim == out.dim && in.up != out.up;
  if (straight_on && crossed + crossing < 2) {
    return leg * channels_a_leg + (crossed | crossing);
  }
  if (out.dim > in.dim) return leg * channels_a_leg + crossing;
  return channels_a_leg + crossing;
}

std::uint32_t Torus::waypoints(core::DeviceId, core::DeviceId) const { return devices_ - 2; }

VertexId Torus::waypoint(core::DeviceId from, core::DeviceId to, std::uint32_t index) const {
  return {skip_two(index, from.value, to.value)};
}

TopologyCounts Torus::counts() const {
  TopologyCounts out;
  std::uint32_t longest = 1;
  for (std::uint32_t i = 0; i < dims_; ++i) {
    const std::uint32_t k = size_[i], lines = devices_ / k;
    const bool around = wraps_ && k > 2;
    out.links += std::uint64_t{lines} * (around ? k : k - 1);
    out.diameter_links += around ? k / 2 : k - 1;
    if (k <= longest) continue;
    longest = k;
    out.bisection_bytes_per_s =
        WideRate{lines} * (around ? 2 : 1) * link_.bandwidth_bytes_per_s;
  }
  return out;
}

}  // namespace exawarp::model
