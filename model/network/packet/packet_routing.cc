// Routing of one packet at one vertex: which ports lead nearer (the topology's answer, or what
// failures leave of it), of these the policy's choice (routing/), and detours and ways around.
#include "model/network/packet/packet_routing.h"

#include <algorithm>

#include "core/check.h"
#include "core/random.h"
#include "model/network/packet/routing.h"

namespace exawarp::model {
namespace {

using core::Time;

enum Purpose : std::uint64_t { kPath = 1, kDetour = 2 };

std::uint64_t packet_bits(const PacketNetwork& network, const Packet& p, Purpose purpose) {
  const std::uint64_t ends = std::uint64_t{p.source} << 32 | p.destination;
  const std::uint64_t which = std::uint64_t{p.message} << 32 | p.number;
  const std::uint64_t kind = static_cast<std::uint64_t>(p.type()) << 8 | purpose;
  return core::stream_of(network.options().routing.seed ^ kind, ends, which);
}

std::uint32_t choose_from(const PortChoices& choices, const Hop& hop) {
  if (choices.empty()) return kNoPort;
  if (choices.size() == 1) return choices[0];
  return hop.network.routing_policy().choose(hop, choices);
}

// Of switches nobody needs to know.
Way way_of(const Hop& hop) {
  const bool goes_on = hop.network.devices_forward() && hop.at.value != hop.packet.source;
  return goes_on ? Way::goes_on : Way::begins;
}

PortChoices usual_ports(const Hop& hop) {
  return hop.network.topology().towards(hop.at, hop.to, way_of(hop));
}

PortChoices live_ports(const LiveRoutes& routes, const Hop& hop) {
  return routes.ports(hop.at, hop.to, way_of(hop), hop.ports.now());
}

VertexId target_of(const Packet& packet) {
  return {packet.waypoint == kNoWaypoint ? packet.destination : packet.waypoint};
}

// Over whatever is left. A packet that waits for a link to come back waits where its way would go
// on if none were down, and so keeps the order that ways around have.
std::uint32_t choose_escape_port(const PacketNetwork& network, const Ports& ports, VertexId at,
                             const Packet& packet) {
  const EscapeRoutes& escape = network.routes()->escape_routes();
  const VertexId to{packet.destination};
  const bool only_down =
      packet.channel == network.around_channel() && escape.came_down(at, packet.in_port);
  PortChoices choices = escape.ports(at, only_down, to, ports.now());
  if (choices.empty() && !network.failures_drop()) {
    choices = escape.ports(at, only_down, to, Time::max());
  }
  return choose_from(choices, {network, ports, at, to, packet});
}

// No minimal way to where the packet is going is whole.
std::uint32_t choose_around(const PacketNetwork& network, const Ports& ports, VertexId at,
                            Packet& packet) {
  const bool anywhere = !network.has_queues();
  if (packet.waypoint != kNoWaypoint && anywhere) {
    packet.waypoint = kNoWaypoint;
    const std::uint32_t direct = minimal_port({network, ports, at, {packet.destination}, packet});
    if (direct != kNoPort) return direct;
  }
  if (packet.waypoint == kNoWaypoint && (anywhere || packet.source == at.value)) {
    const auto over = network.routes()->detour(at, {packet.source}, {packet.destination},
                                               ports.now());
    if (over) {
      packet.waypoint = over->value;
      packet.bits |= Packet::kDetourBit;
      return minimal_port({network, ports, at, *over, packet});
    }
  }
  if (network.routes()->escape_routes().exists(at, {packet.destination}, ports.now())) {
    packet.waypoint = kNoWaypoint;
    packet.bits |= Packet::kAroundBit;
    return choose_escape_port(network, ports, at, packet);
  }
  return network.failures_drop() ? kNoPort : usual_port(network, ports, at, packet);
}

// Decides, once a packet, whether it takes a detour. Acknowledgements take none.
void consider_detour(const PacketNetwork& network, const Ports& ports, VertexId at,
                     Packet& packet) {
  const Topology& topology = network.topology();
  // A device's only queue says nothing about the ways behind its switch, which decides.
  const bool left_to_switch = network.routing_traits().detours_from_switches &&
                              topology.is_device(at) && !network.devices_forward();
  if (left_to_switch) return;
  packet.bits |= Packet::kDetourBit;
  if (packet.type() != PacketType::data) return;
  const VertexId to{packet.destination};
  const VertexId over = valiant_waypoint(topology, {packet.source}, {packet.destination},
                                         packet_bits(network, packet, kDetour));
  if (over == to || over == at) return;
  if (const LiveRoutes* live = network.routes()) {
    const Time now = ports.now();
    const bool whole = !live_ports(*live, {network, ports, at, over, packet}).empty() &&
                       !live->ports(over, to, Way::goes_on, now).empty();
    if (!whole) return;
  }
  if (!network.routing_policy().takes_detour({network, ports, at, to, packet}, over)) return;
  packet.waypoint = over.value;
}

}  // namespace

std::uint32_t choose_port(const PacketNetwork& network, const Ports& ports, VertexId at,
                          Packet& packet) {
  if (packet.goes_around()) return choose_escape_port(network, ports, at, packet);
  if ((packet.bits & Packet::kDetourBit) == 0 && network.routing_traits().takes_waypoints) {
    consider_detour(network, ports, at, packet);
  }
  if (packet.waypoint == at.value) packet.waypoint = kNoWaypoint;
  const std::uint32_t port = minimal_port({network, ports, at, target_of(packet), packet});
  if (port != kNoPort || network.routes() == nullptr) return port;
  return choose_around(network, ports, at, packet);
}

std::uint32_t choose_port(const PacketNetwork& network, const Ports& ports, VertexId at,
                          Packet& packet, std::uint32_t foreseen) {
  EXAWARP_DCHECK(foreseen == 0 || foreseen - 1 == choose_port(network, ports, at, packet), foreseen,
                 at.value);
  return foreseen != 0 ? foreseen - 1 : choose_port(network, ports, at, packet);
}

std::uint32_t usual_port(const PacketNetwork& network, const Ports& ports, VertexId at,
                         const Packet& packet) {
  const Hop hop{network, ports, at, target_of(packet), packet};
  return choose_from(usual_ports(hop), hop);
}

bool ports_are_known_ahead(const PacketNetwork& network) {
  const RoutingTraits& traits = network.routing_traits();
  return traits.follows_from_packet && !traits.takes_waypoints && network.routes() == nullptr;
}

std::uint32_t minimal_port(const Hop& hop) {
  const PacketNetwork& network = hop.network;
  const LiveRoutes* routes = network.routes();
  return choose_from(routes == nullptr ? usual_ports(hop) : live_ports(*routes, hop), hop);
}

std::uint64_t path_bits(const Hop& hop) { return packet_bits(hop.network, hop.packet, kPath); }

std::uint32_t shallowest_port(const Hop& hop, const PortChoices& choices) {
  return adaptive_port(
      choices, [&](std::uint32_t port) { return hop.ports.depth(port).ps; },
      core::random_bits(path_bits(hop), hop.at.value));
}

std::uint32_t shallowest_safe_port(const Hop& hop, const PortChoices& choices) {
  if (!hop.network.topology().every_port_is_safe()) return first_port(choices);
  return shallowest_port(hop, choices);
}

std::uint64_t depth_bytes(const Hop& hop, std::uint32_t port) {
  __extension__ using Wide = unsigned __int128;
  EXAWARP_DCHECK(port < hop.ports.count(), port, hop.ports.count());
  const auto ps = static_cast<std::uint64_t>(hop.ports.depth(port).ps);
  const LinkFigures& figures = hop.network.figures(hop.ports.port(port).kind);
  const auto rate = static_cast<std::uint64_t>(figures.bytes_per_s);
  return static_cast<std::uint64_t>(Wide{ps} * rate / core::kPicosecondsPerSecond);
}

}  // namespace exawarp::model
