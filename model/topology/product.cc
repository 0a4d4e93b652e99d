// Coordinates pick a copy of a dimension's network; what that network says of ports, switches and
// distances is shifted behind those of the dimensions before it.
#include "model/topology/product.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace exawarp::model {

std::uint64_t Product::distances_of(std::span<const std::unique_ptr<Topology>> dims) {
  std::uint64_t product = 1;
  for (const auto& dim : dims) product *= dim->distances().size() + 1;
  return product - 1;
}

Product::Product(std::vector<std::unique_ptr<Topology>> dims, core::Time forwarding)
    : forwarding_(forwarding) {
  EXAWARP_CHECK(!dims.empty() && dims.size() <= kDimsMax, dims.size());
  EXAWARP_CHECK(distances_of(dims) <= kDistancesMax, distances_of(dims));
  std::uint32_t factor = 1;
  for (auto& network : dims) {
    const std::uint32_t size = network->devices();
    const auto kinds = network->link_kinds();
    const auto first_kind = static_cast<std::uint8_t>(kinds_.size());
    kinds_.insert(kinds_.end(), kinds.begin(), kinds.end());
    const auto own = static_cast<std::uint32_t>(network->distances().size());
    dims_.push_back({std::move(network), size, devices_, 0, factor, first_kind});
    devices_ *= size;
    factor *= own + 1;
  }
  for (Dimension& dim : dims_) {
    dim.first_switch = switches_;
    switches_ += devices_ / dim.size * dim.network->switches();
  }
  list_distances();
}

void Product::list_distances() {
  const auto total = dims_.back().first_distance_factor *
                     (dims_.back().network->distances().size() + 1);
  for (std::uint32_t index = 1; index < total; ++index) {
    Distance out{.bandwidth_bytes_per_s = std::numeric_limits<std::int64_t>::max()};
    bool first = true;
    for (const Dimension& dim : dims_) {
      const auto own = dim.network->distances();
      const std::size_t digit = index / dim.first_distance_factor % (own.size() + 1);
      if (digit == 0) continue;
      const Distance& d = own[digit - 1];
      if (!first) {
        out.latency += forwarding_;
        ++out.switches;
      }
      first = false;
      out.latency += d.latency;
      out.endpoint = std::max(out.endpoint, d.endpoint);
      out.switches += d.switches;
      out.links += d.links;
      out.bandwidth_bytes_per_s = std::min(out.bandwidth_bytes_per_s, d.bandwidth_bytes_per_s);
    }
    distances_.push_back(out);
  }
}

std::string Product::name() const {
  std::string out = "product of";
  for (const Dimension& dim : dims_) {
    out += fmt::format("{} ({})", &dim == &dims_.front() ? "" : " x", dim.network->name());
  }
  return out;
}

// ---- ids

Product::Local Product::of_switch(VertexId v) const {
  const std::uint32_t s = v.value - devices_;
  auto dim = static_cast<std::uint32_t>(dims_.size()) - 1;
  while (dims_[dim].first_switch > s || dims_[dim].network->switches() == 0) --dim;
  const std::uint32_t within = s - dims_[dim].first_switch;
  const std::uint32_t of_a_copy = dims_[dim].network->switches();
  return {dim, within / of_a_copy, {dims_[dim].size + within % of_a_copy}};
}

std::uint32_t Product::copy_of(std::uint32_t dim, std::uint32_t device) const {
  const Dimension& d = dims_[dim];
  return device / (d.stride * d.size) * d.stride + device % d.stride;
}

VertexId Product::global(const Local& local) const {
  const Dimension& d = dims_[local.dim];
  if (local.vertex.value >= d.size) {
    return {devices_ + d.first_switch + local.copy * d.network->switches() +
            (local.vertex.value - d.size)};
  }
  return {local.copy / d.stride * d.stride * d.size + local.vertex.value * d.stride +
          local.copy % d.stride};
}

std::uint32_t Product::first_port(std::uint32_t dim, std::uint32_t device) const {
  std::uint32_t port = 0;
  for (std::uint32_t i = 0; i < dim; ++i) port += dims_[i].network->ports(of_device(i, device));
  return port;
}

// The dimension of a device's port, which becomes the one of that dimension's network.
std::uint32_t Product::dim_of_port(std::uint32_t device, std::uint32_t& port) const {
  for (std::uint32_t i = 0;; ++i) {
    const std::uint32_t own = dims_[i].network->ports(of_device(i, device));
    if (port < own) return i;
    port -= own;
  }
}

// ---- wires

std::uint32_t Product::ports(VertexId v) const {
  if (is_device(v)) return first_port(static_cast<std::uint32_t>(dims_.size()), v.value);
  const Local at = of_switch(v);
  return dims_[at.dim].network->ports(at.vertex);
}

Link Product::link(VertexId v, std::uint32_t port) const {
  Local at;
  if (is_device(v)) {
    EXAWARP_DCHECK(port < ports(v), v.value, port);
    at.dim = dim_of_port(v.value, port);
    at.copy = copy_of(at.dim, v.value);
    at.vertex = of_device(at.dim, v.value);
  } else {
    at = of_switch(v);
  }
  Link out = dims_[at.dim].network->link(at.vertex, port);
  const bool to_device = out.peer.value < dims_[at.dim].size;
  out.peer = global({at.dim, at.copy, out.peer});
  if (to_device) out.peer_port += first_port(at.dim, out.peer.value);
  out.kind = static_cast<std::uint8_t>(out.kind + dims_[at.dim].first_kind);
  return out;
}

core::Time Product::forwarding_latency(VertexId v) const {
  if (is_device(v)) return forwarding_;
  const Local at = of_switch(v);
  return dims_[at.dim].network->forwarding_latency(at.vertex);
}

// ---- routes

PortChoices Product::minimal(VertexId at, VertexId to) const {
  if (!is_device(at)) {
    const Local local = of_switch(at);
    return dims_[local.dim].network->minimal(local.vertex, of_device(local.dim, to.value));
  }
  PortChoices out;
  std::uint32_t port = 0;
  for (std::uint32_t i = 0; i < dims_.size(); ++i) {
    const VertexId here = of_device(i, at.value), there = of_device(i, to.value);
    if (here != there) {
      const PortChoices inside = dims_[i].network->minimal(here, there);
      for (const PortChoices::Range range : inside.ranges()) {
        out.add(port + range.first, range.count);
      }
    }
    port += dims_[i].network->ports(here);
  }
  return out;
}

// At a device there may be several dimensions' ports; the first of all keeps the order.
std::uint32_t Product::spread(VertexId at, VertexId to) const {
  if (is_device(at)) return 0;
  const Local local = of_switch(at);
  return dims_[local.dim].network->spread(local.vertex, of_device(local.dim, to.value));
}

MessageRoute Product::message_route(core::DeviceId a, core::DeviceId b) const {
  std::uint32_t index = 0;
  MessageRoute out;
  for (std::uint32_t i = 0; i < dims_.size(); ++i) {
    const VertexId here = of_device(i, a.value), there = of_device(i, b.value);
    if (here == there) continue;
    const MessageRoute route =
        dims_[i].network->message_route({here.value}, {there.value});
    if (index == 0) {
      out.tx_port = static_cast<std::uint16_t>(first_port(i, a.value) + route.tx_port);
    }
    out.rx_port = static_cast<std::uint16_t>(first_port(i, b.value) + route.rx_port);
    index += (route.distance + 1u) * dims_[i].first_distance_factor;
  }
  out.distance = static_cast<std::uint16_t>(index - 1);
  return out;
}

// A path through several dimensions is longer than its part in one of them, so the least is of one
// dimension. Where strides are no powers of two, that dimension's least of all is a bound below.
core::Time Product::least_latency(std::uint32_t atom_shift) const {
  const std::uint64_t atom = std::uint64_t{1} << atom_shift;
  core::Time least = core::Time::max(), of_all = core::Time::max();
  for (const Dimension& dim : dims_) {
    if (dim.size == 1) continue;
    of_all = std::min(of_all, dim.network->least_latency(0));
    const std::uint64_t span = std::uint64_t{dim.size} * dim.stride;
    if (atom % span == 0) continue;  // inside an atom
    const bool aligned = dim.stride < atom && atom % dim.stride == 0;
    const auto shift = aligned ? std::countr_zero(atom / dim.stride) : 0;
    least = std::min(least, dim.network->least_latency(static_cast<std::uint32_t>(shift)));
  }
  if (least != core::Time::max()) return least;
  return of_all != core::Time::max() ? of_all : core::Time{1};
}

bool Product::every_port_is_safe() const {
  return std::ranges::count_if(dims_, [](const Dimension& d) { return d.size > 1; }) <= 1 &&
         std::ranges::all_of(dims_, [](const Dimension& d) {
           return d.network->every_port_is_safe();
         });
}

std::uint32_t Product::virtual_channels() const {
  std::uint32_t most = 1;
  for (const Dimension& dim : dims_) most = std::max(most, dim.network->virtual_channels());
  return most;
}

std::uint32_t Product::next_channel(VertexId at, std::uint32_t in_port, std::uint32_t out_port,
                                    std::uint32_t vc) const {
  if (!is_device(at)) {
    const Local local = of_switch(at);
    return dims_[local.dim].network->next_channel(local.vertex, in_port, out_port, vc);
  }
  const bool starts_here = in_port == ports(at);
  const std::uint32_t out_dim = dim_of_port(at.value, out_port);
  const VertexId here = of_device(out_dim, at.value);
  if (starts_here || dim_of_port(at.value, in_port) != out_dim) {
    const Topology& network = *dims_[out_dim].network;
    return network.next_channel(here, network.ports(here), out_port, 0);
  }
  return dims_[out_dim].network->next_channel(here, in_port, out_port, vc);
}

TopologyCounts Product::counts() const {
  TopologyCounts out{.switches = switches_};
  WideRate least = -1;
  for (const Dimension& dim : dims_) {
    const TopologyCounts own = dim.network->counts();
    const std::uint32_t copies = devices_ / dim.size;
    out.links += copies * own.links;
    out.diameter_links += own.diameter_links;
    const WideRate cut = copies * own.bisection_bytes_per_s;
    if (dim.size > 1 && (least < 0 || cut < least)) least = cut;
  }
  out.bisection_bytes_per_s = std::max<WideRate>(least, 0);
  return out;
}

}  // namespace exawarp::model
