// What the ports of a packet network have counted, added up over switches, devices and ranks.
#pragma once

#include <cstdint>

#include "core/time.h"
#include "model/network/packet/endpoint_state.h"
#include "model/switch/packet_switch.h"

namespace exawarp::pdes {
class Transport;
}

namespace exawarp::model {

struct PacketTotals {
  std::uint64_t unfinished = 0;   // messages sent and not yet acknowledged, or not all received
  std::uint64_t packet_hops = 0;  // packets through a switch's port
  std::uint64_t packets_sent = 0; // by devices, control packets and those that pass included
  std::uint64_t drops = 0, lost = 0, marks = 0, pauses = 0, repeated = 0;  // packets; lost: no way
  // Maxima over ports.
  core::Time deepest_queue{};       // time that the packet at its end waited for the line
  std::uint64_t busiest_bytes = 0;

  void add(const EndpointState& endpoint);
  void add(const PacketSwitchState& state);
  // Over all ranks; collective.
  void combine(pdes::Transport& transport);

 private:
  void add(const PortState& port);
};

}  // namespace exawarp::model
