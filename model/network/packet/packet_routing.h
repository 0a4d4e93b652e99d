// Where a packet goes on: one of the ports that lead nearer to its waypoint or destination.
//
// Hashes are pure functions of the packet, the vertex and the seed, so a route does not depend on
// who is asked first; adaptive choices read the depths of this vertex's own queues.
#pragma once

#include <cstdint>

#include "model/network/packet/packet.h"
#include "model/network/packet/port.h"
#include "model/network/packet/routing_policy.h"

namespace exawarp::model {

constexpr std::uint32_t kNoPort = 0xffffffffu;

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
// The same where a switch may have worked it out before: `foreseen` is the port plus 1, or 0.
std::uint32_t choose_port(const PacketNetwork& network, const Ports& ports, VertexId at,
                          Packet& packet, std::uint32_t foreseen);
// As if no link were down.
std::uint32_t usual_port(const PacketNetwork& network, const Ports& ports, VertexId at,
                         const Packet& packet);
// Whether choose_port() looks at nothing but the packet and the place, and sends no packet over a
// waypoint: usual_port() is then what it will say.
bool ports_are_known_ahead(const PacketNetwork& network);

// ---- for policies

// The port that the policy takes on the way to `hop.to`, or kNoPort where none leads there.
std::uint32_t minimal_port(const Hop& hop);
// 64 bits of the packet, whose way they are drawn for; a stream of core::random_bits.
std::uint64_t path_bits(const Hop& hop);
// The port whose line is free soonest; of equal ones the first behind a random place.
std::uint32_t shallowest_port(const Hop& hop, const PortChoices& choices);
// The same where every minimal port is free of deadlock, else the first.
std::uint32_t shallowest_safe_port(const Hop& hop, const PortChoices& choices);
// What waits at a port of `hop.at`.
std::uint64_t depth_bytes(const Hop& hop, std::uint32_t port);

}  // namespace exawarp::model
