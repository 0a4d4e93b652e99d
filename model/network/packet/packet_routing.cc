#include "model/network/packet/packet_routing.h"

#include <algorithm>

#include "core/random.h"

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

std::uint64_t depth_bytes(const PacketNetwork& network, const Ports& ports, std::uint32_t p) {
  __extension__ using Wide = unsigned __int128;
  const auto ps = static_cast<std::uint64_t>(ports.depth(p).ps);
  const auto rate = static_cast<std::uint64_t>(network.figures(ports.port(p).kind).bytes_per_s);
  return static_cast<std::uint64_t>(Wide{ps} * rate / core::kPicosecondsPerSecond);
}

// The port whose line is free soonest; of equal ones the first behind a random place.
std::uint32_t least_depth(const Ports& ports, const PortChoices& choices, std::uint64_t bits) {
  const std::uint32_t n = choices.size();
  std::uint32_t i = pick(bits, n);
  std::uint32_t best = choices[i];
  Time least = ports.depth(best);
  for (std::uint32_t tried = 1; tried < n && least.ps > 0; ++tried) {
    i = i + 1 == n ? 0 : i + 1;
    const Time depth = ports.depth(choices[i]);
    if (depth >= least) continue;
    least = depth;
    best = choices[i];
  }
  return best;
}

std::uint32_t choose_from(const PortChoices& choices, const PacketNetwork& network,
                          const Ports& ports, VertexId at, VertexId to, const Packet& packet) {
  const Topology& topology = network.topology();
  if (choices.empty()) return kNoPort;
  if (choices.size() == 1) return choices[0];
  const PacketOptions& o = network.options();
  switch (o.routing.policy) {
    case RoutingPolicy::deterministic: return first_port(choices);
    case RoutingPolicy::destination: return destination_port(choices, topology.spread(at, to));
    case RoutingPolicy::ecmp: {
      const Flow flow{{packet.source}, {packet.destination}, packet.message % o.queue_pairs};
      return ecmp_port(choices, flow_hash(o.routing.seed, flow), at);
    }
    case RoutingPolicy::spray:
      return sprayed_port(choices, packet_bits(network, packet, kPath), at.value);
    case RoutingPolicy::adaptive: break;
    case RoutingPolicy::valiant:
    case RoutingPolicy::ugal:
      if (!topology.every_port_is_safe()) return first_port(choices);
      break;
  }
  return least_depth(ports, choices,
                     core::random_bits(packet_bits(network, packet, kPath), at.value));
}

std::uint32_t choose(const PacketNetwork& network, const Ports& ports, VertexId at, VertexId to,
                     const Packet& packet) {
  const PortChoices choices = network.routes() == nullptr
                                  ? network.topology().minimal(at, to)
                                  : network.routes()->ports(at, to, ports.now());
  return choose_from(choices, network, ports, at, to, packet);
}

VertexId target_of(const Packet& packet) {
  return {packet.waypoint == kNoWaypoint ? packet.destination : packet.waypoint};
}

// Over whatever is left. A packet that waits for a link to come back waits where its way would go
// on if none were down, and so keeps the order that ways around have.
std::uint32_t choose_any_way(const PacketNetwork& network, const Ports& ports, VertexId at,
                             const Packet& packet) {
  const WaysAround& ways = network.routes()->ways_around();
  const VertexId to{packet.destination};
  const bool only_down =
      packet.channel == network.around_channel() && ways.came_down(at, packet.in_port);
  PortChoices choices = ways.ports(at, only_down, to, ports.now());
  if (choices.empty() && !network.failures_drop()) {
    choices = ways.ports(at, only_down, to, Time::max());
  }
  return choose_from(choices, network, ports, at, to, packet);
}

// No minimal way to where the packet is going is whole.
std::uint32_t choose_around(const PacketNetwork& network, const Ports& ports, VertexId at,
                            Packet& packet) {
  const bool anywhere = !network.has_queues();
  if (packet.waypoint != kNoWaypoint && anywhere) {
    packet.waypoint = kNoWaypoint;
    const std::uint32_t direct = choose(network, ports, at, {packet.destination}, packet);
    if (direct != kNoPort) return direct;
  }
  if (packet.waypoint == kNoWaypoint && (anywhere || packet.source == at.value)) {
    const auto over = network.routes()->detour(at, {packet.source}, {packet.destination},
                                               ports.now());
    if (over) {
      packet.waypoint = over->value;
      packet.bits |= Packet::kDetourBit;
      return choose(network, ports, at, *over, packet);
    }
  }
  if (network.routes()->ways_around().exists(at, {packet.destination}, ports.now())) {
    packet.waypoint = kNoWaypoint;
    packet.bits |= Packet::kAroundBit;
    return choose_any_way(network, ports, at, packet);
  }
  return network.failures_drop() ? kNoPort : usual_port(network, ports, at, packet);
}

// Decides, once a packet, whether it takes a detour. Acknowledgements take none.
void consider_detour(const PacketNetwork& network, const Ports& ports, VertexId at,
                     Packet& packet) {
  const Topology& topology = network.topology();
  const Routing& routing = network.options().routing;
  const bool ugal = routing.policy == RoutingPolicy::ugal;
  // A device's only queue says nothing about the ways behind its switch, which decides.
  if (ugal && topology.is_device(at) && !network.devices_forward()) return;
  packet.bits |= Packet::kDetourBit;
  if (packet.type() != PacketType::data) return;
  const VertexId to{packet.destination};
  const VertexId over = valiant_waypoint(topology, {packet.source}, {packet.destination},
                                         packet_bits(network, packet, kDetour));
  if (over == to || over == at) return;
  if (const LiveRoutes* live = network.routes()) {
    const Time now = ports.now();
    if (live->ports(at, over, now).empty() || live->ports(over, to, now).empty()) return;
  }
  if (ugal) {
    const std::uint32_t direct = choose(network, ports, at, to, packet);
    const std::uint32_t detour = choose(network, ports, at, over, packet);
    if (direct == kNoPort || detour == kNoPort) return;
    const std::uint32_t links = links_between(topology, at, over);
    const bool better = takes_detour(
        {depth_bytes(network, ports, direct), links_between(topology, at, to)},
        {depth_bytes(network, ports, detour), links + links_between(topology, over, to)},
        routing.ugal_bias_bytes);
    if (!better) return;
  }
  packet.waypoint = over.value;
}

}  // namespace

std::uint32_t choose_port(const PacketNetwork& network, const Ports& ports, VertexId at,
                          Packet& packet) {
  if (packet.goes_around()) return choose_any_way(network, ports, at, packet);
  if ((packet.bits & Packet::kDetourBit) == 0 &&
      takes_waypoints(network.options().routing.policy)) {
    consider_detour(network, ports, at, packet);
  }
  if (packet.waypoint == at.value) packet.waypoint = kNoWaypoint;
  const std::uint32_t port = choose(network, ports, at, target_of(packet), packet);
  if (port != kNoPort || network.routes() == nullptr) return port;
  return choose_around(network, ports, at, packet);
}

std::uint32_t usual_port(const PacketNetwork& network, const Ports& ports, VertexId at,
                         const Packet& packet) {
  const VertexId to = target_of(packet);
  return choose_from(network.topology().minimal(at, to), network, ports, at, to, packet);
}

}  // namespace exawarp::model
