// A list of links becomes ports, and one breadth-first search from each device the table of
// distances that minimal routes are read from.
#include "model/topology/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/error.h"
#include "model/topology/cut.h"

namespace exawarp::model {

Graph::Graph(const GraphSpec& spec, const std::string& place)
    : devices_(spec.devices),
      switches_(spec.switches),
      kinds_(spec.kinds),
      devices_forward_(spec.devices_forward),
      forwarding_(spec.latencies.forwarding) {
  EXAWARP_CHECK(devices_ <= kDevicesMax && devices_ + switches_ <= kVerticesMax, devices_,
                switches_);
  wire_up(spec);
  hops_.assign(std::size_t{devices_} * (devices_ + switches_), kFar);
  for (std::uint32_t d = 0; d < devices_; ++d) {
    search_from({d});
    for (std::uint32_t from = 0; from < d; ++from) {
      if (hops({from}, {d}) != kFar) continue;
      throw core::InputError(
          place, fmt::format("no path between devices {} and {}; expected a connected graph, or "
                             "devices_forward: true",
                             from, d));
    }
  }
  list_distances(spec.latencies.endpoint);
}

void Graph::wire_up(const GraphSpec& spec) {
  first_port_.assign(devices_ + switches_ + 1, 0);
  for (const GraphSpec::Wire& wire : spec.wires) {
    EXAWARP_CHECK(wire.a != wire.b && wire.a.value < devices_ + switches_ &&
                      wire.b.value < devices_ + switches_,
                  wire.a.value, wire.b.value);
    EXAWARP_CHECK(wire.kind < kinds_.size(), wire.kind);
    ++first_port_[wire.a.value + 1];
    ++first_port_[wire.b.value + 1];
  }
  for (std::size_t v = 1; v < first_port_.size(); ++v) first_port_[v] += first_port_[v - 1];
  links_.resize(2 * spec.wires.size());
  std::vector<std::uint32_t> used(devices_ + switches_, 0);
  for (const GraphSpec::Wire& wire : spec.wires) {
    const std::uint32_t port_a = used[wire.a.value]++, port_b = used[wire.b.value]++;
    links_[first_port_[wire.a.value] + port_a] = {wire.b, port_b, wire.kind};
    links_[first_port_[wire.b.value] + port_b] = {wire.a, port_a, wire.kind};
  }
}

void Graph::search_from(VertexId device) {
  const std::size_t row = std::size_t{device.value} * (devices_ + switches_);
  std::vector<VertexId> queue{device};
  hops_[row + device.value] = 0;
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const VertexId at = queue[next];
    if (at != device && is_device(at) && !devices_forward_) continue;
    for (std::uint32_t p = 0; p < ports(at); ++p) {
      const VertexId peer = link(at, p).peer;
      if (hops_[row + peer.value] != kFar) continue;
      hops_[row + peer.value] = static_cast<Hops>(hops_[row + at.value] + 1);
      queue.push_back(peer);
    }
  }
}

std::uint32_t Graph::first_minimal(VertexId at, VertexId to) const {
  const Hops here = hops(at, to);
  for (std::uint32_t p = 0; p < ports(at); ++p) {
    const VertexId peer = link(at, p).peer;
    const bool passes = peer == to || !is_device(peer) || devices_forward_;
    if (passes && hops(peer, to) + 1 == here) return p;
  }
  EXAWARP_CHECK(false, at.value, to.value);
  return 0;
}

// One class for pairs of equal figures, numbered in the order in which they are met.
void Graph::list_distances(core::Time endpoint) {
  using Figures = std::tuple<std::int64_t, std::uint32_t, std::int64_t>;
  std::map<Figures, std::uint16_t> known;
  distance_of_.assign(std::size_t{devices_} * devices_, 0);
  for (std::uint32_t a = 0; a < devices_; ++a) {
    for (std::uint32_t b = 0; b < devices_; ++b) {
      if (a == b) continue;
      Distance d{.endpoint = endpoint,
                 .bandwidth_bytes_per_s = std::numeric_limits<std::int64_t>::max()};
      for (VertexId at{a}; at.value != b;) {
        if (at.value != a) d.latency += forwarding_latency(at);
        const Link next = link(at, first_minimal(at, {b}));
        d.latency += kinds_[next.kind].latency;
        d.bandwidth_bytes_per_s =
            std::min(d.bandwidth_bytes_per_s, kinds_[next.kind].bandwidth_bytes_per_s);
        ++d.links;
        at = next.peer;
      }
      d.switches = d.links - 1;
      channels_ = std::max(channels_, d.links);
      const auto [entry, is_new] = known.try_emplace(
          Figures{d.latency.ps, d.links, d.bandwidth_bytes_per_s},
          static_cast<std::uint16_t>(distances_.size()));
      if (is_new) distances_.push_back(d);
      EXAWARP_CHECK(distances_.size() < 1u << 16);
      distance_of_[std::size_t{a} * devices_ + b] = entry->second;
    }
  }
}

std::string Graph::name() const {
  return fmt::format("graph of {} devices and {} switches", devices_, switches_);
}

PortChoices Graph::minimal(VertexId at, VertexId to) const {
  PortChoices out;
  if (at == to) return out;
  const Hops here = hops(at, to);
  for (std::uint32_t p = 0; p < ports(at); ++p) {
    const VertexId peer = link(at, p).peer;
    const bool passes = peer == to || !is_device(peer) || devices_forward_;
    if (!passes || hops(peer, to) + 1 != here) continue;
    if (!out.add_if_room(p)) break;
  }
  return out;
}

MessageRoute Graph::message_route(core::DeviceId a, core::DeviceId b) const {
  const VertexId to{b.value};
  const std::uint32_t tx = first_minimal({a.value}, to);
  Link at = link({a.value}, tx);
  while (at.peer != to) at = link(at.peer, first_minimal(at.peer, to));
  return {distance_of_[std::size_t{a.value} * devices_ + b.value],
          static_cast<std::uint16_t>(tx), static_cast<std::uint16_t>(at.peer_port)};
}

core::Time Graph::least_latency(std::uint32_t atom_shift) const {
  core::Time least = core::Time::max();
  for (std::uint32_t a = 0; a < devices_; ++a) {
    for (std::uint32_t b = 0; b < devices_; ++b) {
      if (a == b || (a >> atom_shift) == (b >> atom_shift)) continue;
      least = std::min(least, distances_[distance_of_[std::size_t{a} * devices_ + b]].latency);
    }
  }
  if (least != core::Time::max()) return std::max(least, core::Time{1});
  return atom_shift == 0 ? core::Time{1} : least_latency(0);
}

TopologyCounts Graph::counts() const {
  TopologyCounts out{.switches = switches_, .links = links_.size() / 2};
  for (const Distance& d : distances_) out.diameter_links = std::max(out.diameter_links, d.links);
  out.bisection_bytes_per_s =
      least_cut(*this, [this](core::DeviceId d) { return d.value < devices_ / 2; });
  return out;
}

}  // namespace exawarp::model
