// A lattice of switches as numbers in mixed radix; a minimal route corrects one coordinate a link,
// so a distance is the number of coordinates that differ.
#include "model/topology/hyperx.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace exawarp::model {
namespace {

constexpr std::uint8_t kSwitchHost = 0, kBetween = 1;

}  // namespace

HyperX::HyperX(const HyperXSpec& spec)
    : dims_(static_cast<std::uint32_t>(spec.dims.size())),
      hosts_(spec.hosts),
      ports_(spec.hosts),
      kinds_{spec.host, spec.between},
      forwarding_(spec.latencies.forwarding) {
  EXAWARP_CHECK(dims_ >= 1 && dims_ <= kDimsMax, dims_);
  EXAWARP_CHECK(spec.width.size() == dims_ && hosts_ >= 1, hosts_);
  for (std::uint32_t i = 0; i < dims_; ++i) {
    EXAWARP_CHECK(spec.dims[i] >= 1 && spec.width[i] >= 1, i);
    size_[i] = spec.dims[i];
    width_[i] = spec.width[i];
    stride_[i] = switches_;
    switches_ *= size_[i];
    ports_ += (size_[i] - 1) * width_[i];
    if (size_[i] > 1) ++real_dims_;
  }
  shortest_ = hosts_ > 1 ? 0 : 1;
  for (std::uint32_t between = shortest_; between <= real_dims_; ++between) {
    distances_.push_back(path_over({{kinds_[kSwitchHost], 2}, {kinds_[kBetween], between}},
                                   spec.latencies));
  }
}

std::string HyperX::name() const {
  return fmt::format("HyperX {}, {} hosts a switch",
                     fmt::join(std::span(size_.data(), dims_), " x "), hosts_);
}

std::uint32_t HyperX::ports(VertexId v) const { return is_device(v) ? 1 : ports_; }

Link HyperX::link(VertexId v, std::uint32_t port) const {
  EXAWARP_DCHECK(port < ports(v), v.value, port);
  const std::uint32_t at = switch_of(v);
  if (is_device(v)) return {vertex_of_switch(at), v.value % hosts_, kSwitchHost};
  if (port < hosts_) return {{at * hosts_ + port}, 0, kSwitchHost};
  std::uint32_t base = hosts_, i = 0;
  while (port - base >= (size_[i] - 1) * width_[i]) base += (size_[i] - 1) * width_[i], ++i;
  const std::uint32_t c = at / stride_[i] % size_[i];
  const std::uint32_t slot = (port - base) / width_[i], lane = (port - base) % width_[i];
  const std::uint32_t peer = slot < c ? slot : slot + 1;
  const std::uint32_t slot_there = c < peer ? c : c - 1;
  return {vertex_of_switch(at - c * stride_[i] + peer * stride_[i]),
          base + slot_there * width_[i] + lane, kBetween};
}

core::Time HyperX::forwarding_latency(VertexId v) const {
  return is_device(v) ? core::Time{} : forwarding_;
}

PortChoices HyperX::minimal(VertexId at, VertexId to) const {
  PortChoices out;
  if (at == to) return out;
  if (is_device(at)) {
    out.add(0);
    return out;
  }
  std::uint32_t here = switch_of(at), there = switch_of(to);
  if (here == there) {
    out.add(to.value % hosts_);
    return out;
  }
  std::uint32_t port = hosts_;
  for (std::uint32_t i = 0; i < dims_ && here != there; ++i) {
    const std::uint32_t k = size_[i], c = here % k, t = there % k;
    here /= k;
    there /= k;
    if (c != t) out.add(port + (t < c ? t : t - 1) * width_[i], width_[i]);
    port += (k - 1) * width_[i];
  }
  return out;
}

std::uint32_t HyperX::spread(VertexId, VertexId to) const {
  return is_device(to) ? to.value % hosts_ : 0;
}

MessageRoute HyperX::message_route(core::DeviceId a, core::DeviceId b) const {
  std::uint32_t between = 0, from = a.value / hosts_, to = b.value / hosts_;
  for (std::uint32_t i = 0; i < dims_; ++i) {
    if (from % size_[i] != to % size_[i]) ++between;
    from /= size_[i];
    to /= size_[i];
  }
  return {static_cast<std::uint16_t>(between - shortest_), 0, 0};
}

core::Time HyperX::least_latency(std::uint32_t atom_shift) const {
  std::vector<std::uint32_t> strides{1};
  for (std::uint32_t i = 0; i < dims_; ++i) {
    if (size_[i] == 1) continue;
    strides.push_back(hosts_ * stride_[i]);
    strides.push_back(hosts_ * stride_[i] * (size_[i] - 1));
  }
  return least_latency_over(*this, atom_shift, strides);
}

std::uint32_t HyperX::virtual_channels() const { return std::max(1u, 2 * real_dims_); }

std::uint32_t HyperX::next_channel(VertexId at, std::uint32_t in_port, std::uint32_t out_port,
                                   std::uint32_t vc) const {
  if (is_device(at) || in_port < hosts_ || out_port < hosts_) return vc;
  return std::min(vc + 1, virtual_channels() - 1);
}

std::uint32_t HyperX::waypoints(core::DeviceId from, core::DeviceId to) const {
  const bool same = from.value / hosts_ == to.value / hosts_;
  return same ? 0 : switches_ - 2;
}

VertexId HyperX::waypoint(core::DeviceId from, core::DeviceId to, std::uint32_t index) const {
  return vertex_of_switch(skip_two(index, from.value / hosts_, to.value / hosts_));
}

TopologyCounts HyperX::counts() const {
  TopologyCounts out{.switches = switches_, .links = devices()};
  out.diameter_links = distances_.empty() ? 0 : distances_.back().links;
  WideRate least = -1;
  for (std::uint32_t i = 0; i < dims_; ++i) {
    const WideRate half = size_[i] / 2;
    const std::int64_t lines = switches_ / size_[i];
    out.links += static_cast<std::uint64_t>(lines) * size_[i] * (size_[i] - 1) / 2 * width_[i];
    const WideRate cut =
        lines * half * (size_[i] - half) * width_[i] * kinds_[kBetween].bandwidth_bytes_per_s;
    if (size_[i] > 1 && (least < 0 || cut < least)) least = cut;
  }
  out.bisection_bytes_per_s =
      least >= 0 ? least : WideRate{hosts_ / 2} * kinds_[kSwitchHost].bandwidth_bytes_per_s;
  return out;
}

}  // namespace exawarp::model
