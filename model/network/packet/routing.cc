#include "model/network/packet/routing.h"

namespace exawarp::model {

std::uint32_t adaptive_port(const PortChoices& choices, std::span<const std::uint64_t> depth,
                            std::uint64_t random) {
  const std::uint32_t start = choices.size() == 1 ? 0 : pick(random, choices.size());
  std::uint32_t best = choices[start], best_order = 0, index = 0;
  for (const PortChoices::Range range : choices.ranges()) {
    for (std::uint32_t port = range.first; port < range.first + range.count; ++port, ++index) {
      const std::uint32_t order =
          index >= start ? index - start : index + choices.size() - start;
      if (depth[port] > depth[best] || (depth[port] == depth[best] && order > best_order)) continue;
      best = port;
      best_order = order;
    }
  }
  return best;
}

VertexId valiant_waypoint(const Topology& topology, core::DeviceId from, core::DeviceId to,
                          std::uint64_t random) {
  const std::uint32_t count = topology.waypoints(from, to);
  if (count == 0) return {to.value};
  return topology.waypoint(from, to, pick(random, count));
}

std::uint32_t links_between(const Topology& topology, VertexId from, VertexId to) {
  std::uint32_t links = 0;
  for (VertexId at = from; at != to; ++links) {
    at = topology.link(at, topology.minimal(at, to)[0]).peer;
  }
  return links;
}

}  // namespace exawarp::model
