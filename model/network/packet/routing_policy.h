// Which of several ports a packet takes. A policy is one file in routing/, which CMake finds there:
// it defines a function of the file's name that returns a RoutingAlgorithm
// (docs/guide/writing_a_congestion_control.md). There is one object of it for a whole network, made
// when the network is; it has no state.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "model/network/packet/parameters.h"
#include "model/topology/topology.h"

namespace exawarp::model {

class PacketNetwork;
class Ports;
struct Packet;

// A packet at vertex `at` on its way to vertex `to`: its waypoint, or its destination.
struct Hop {
  const PacketNetwork& network;
  const Ports& ports;  // of `at`
  VertexId at, to;
  const Packet& packet;
};

// Thread safety: read-only. Each function gives the same answer to the same arguments.
class RoutingPolicy {
 public:
  RoutingPolicy() = default;
  RoutingPolicy(const RoutingPolicy&) = delete;
  RoutingPolicy& operator=(const RoutingPolicy&) = delete;
  virtual ~RoutingPolicy() = default;

  // One of the ports that lead nearer to `hop.to`. Requires choices.size() >= 2.
  [[nodiscard]] virtual std::uint32_t choose(const Hop& hop, const PortChoices& choices) const = 0;
  // Whether a packet that could go straight on to `hop.to` goes over `waypoint` instead. Asked once
  // a packet, of policies that take waypoints.
  [[nodiscard]] virtual bool takes_detour(const Hop& /*hop*/, VertexId /*waypoint*/) const {
    return true;
  }
};

struct RoutingTraits {
  bool takes_waypoints = false;        // each packet may go over a random vertex
  bool detours_from_switches = false;  // a device leaves it to the first switch
  bool keeps_order = false;            // packets of one message take one way
  bool follows_from_packet = false;    // choose() looks at the packet and the place, at no queue
  // Keeps to the first minimal port of each leg, as a topology without every_port_is_safe() asks
  // for.
  bool keeps_to_first_port = false;
};

struct RoutingAlgorithm {
  std::string_view name;     // as studies write it (packet.routing)
  std::string_view meaning;  // one sentence
  int place = 100;           // in lists: by this, then by name
  RoutingTraits traits{};
  std::span<const Parameter> parameters{};  // keys of `packet` itself
  // Throws core::InputError where values contradict each other.
  std::unique_ptr<const RoutingPolicy> (*make)(const ParameterValues&) = nullptr;
};

// All that routing/ has, in the order of lists.
std::span<const RoutingAlgorithm> routing_algorithms();
// Throws core::InputError where there is none of that name.
const RoutingAlgorithm& routing_algorithm(std::string_view name);
std::shared_ptr<const RoutingPolicy> make_routing_policy(std::string_view name,
                                                         const GivenParameters& given);

}  // namespace exawarp::model
