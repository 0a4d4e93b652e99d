#include "model/network/packet/routing.h"

namespace exawarp::model {

VertexId valiant_waypoint(const Topology& topology, core::DeviceId from, core::DeviceId to,
                          std::uint64_t random) {
  const std::uint32_t count = topology.waypoints(from, to);
  if (count == 0) return {to.value};
  return topology.waypoint(from, to, pick(random, count));
}

std::uint32_t links_between(const Topology& topology, VertexId from, VertexId to) {
  std::uint32_t links = 0;
  for (VertexId at = from; at != to; ++links) {
    const PortChoices ports = topology.towards(at, to, at == from ? Way::begins : Way::goes_on);
    at = topology.link(at, ports[0]).peer;
  }
  return links;
}

}  // namespace exawarp::model
