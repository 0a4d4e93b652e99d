// Where a packet goes on: one of the ports that lead nearer to its waypoint or destination.
//
// Hashes are pure functions of the packet, the vertex and the seed, so a route does not depend on
// who is asked first; adaptive choices read the depths of this vertex's own queues.
#pragma once

#include <cstdint>

#include "model/network/packet/packet.h"
#include "model/network/packet/port.h"

namespace exawarp::model {

constexpr std::uint32_t kNoPort = 0xffffffffu;

constexpr bool takes_waypoints(RoutingPolicy policy) {
  return policy == RoutingPolicy::valiant || policy == RoutingPolicy::ugal;
}
// Whether packets of one message take one way.
constexpr bool keeps_order(RoutingPolicy policy) {
  return policy == RoutingPolicy::deterministic || policy == RoutingPolicy::destination ||
         policy == RoutingPolicy::ecmp;
}

// The port by which `packet` leaves vertex `at`, or kNoPort where none leads to its destination.
// Sets the waypoint where the policy takes a detour, and clears it where it is reached.
//
// Around links that are down (live_routes.h): a minimal port behind which a minimal way is whole;
// where there is none, a detour by a waypoint, at the source or, where no queue waits for another,
// wherever the packet is; where there is none either, any way that is left, from wherever it is to
// the end. A packet that finds none is lost (kNoPort) where losses are repaired, and else goes to
// the port that holds it.
std::uint32_t choose_port(const PacketNetwork& network, const Ports& ports, VertexId at,
                          Packet& packet);
// As if no link were down.
std::uint32_t usual_port(const PacketNetwork& network, const Ports& ports, VertexId at,
                         const Packet& packet);

}  // namespace exawarp::model
