// What a device's network interfaces remember at packet fidelity: one block, hot first. It grows
// with what is in flight only, in blocks of the partition. The head, of 48 bytes, fills a cache
// line with the engine's 16-byte header; ports, of one line each, their channels and send sides
// follow (EndpointParts).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/network/packet/congestion_control.h"
#include "model/network/packet/packet.h"
#include "model/network/packet/port.h"
#include "model/network/packet/steady/steady_run.h"
#include "pdes/undo_table.h"
#include "pdes/undo_vector.h"

namespace exawarp::model {

constexpr std::uint32_t kRepeatWindow = 256;  // packets; selective repeat keeps a bit for each
using PacketSet = std::array<std::uint64_t, kRepeatWindow / 64>;  // by number modulo the window

// A message that is being sent, or waits to be acknowledged.
struct Sending {
  std::uint64_t key = 0;  // its number
  MessageBody body{};
  std::uint32_t to = 0;
  std::uint32_t packets = 0;
  std::uint32_t next = 0;        // packet to be sent
  std::uint32_t sent = 0;        // packets that were sent at least once
  std::uint32_t acked = 0;
  std::uint32_t repair_end = 0;  // selective repeat: holes below are sent again
  std::uint32_t last_bytes = 0;  // of the last packet, on the wire
  std::uint32_t waypoint = kNoWaypoint;
  std::uint16_t port = 0;
  std::uint8_t channel = 0;
  std::uint8_t due = 0;          // is in its port's list of who may send
  std::uint16_t timeouts = 0;    // in a row; each doubles the next one's time
  std::uint16_t restart = 0;     // after a timeout: packets that may be under way; 0: any number
  core::Time endpoint_delay{};   // of both ends' interfaces
  core::Time not_before{};       // of the next packet, where a rate or small window paces it
  core::Time told{};             // trains: when the first packet of the latest promise arrives
  std::uint32_t promised = 0;    // trains: packets before this one have been given or promised
  std::uint32_t ack_asked = 0;   // packets before this one will be acknowledged, if none is lost
  std::uint16_t waits = 0;       // in order: for those before it on its connection
  std::uint16_t first_port = 0;  // by which it was to leave when it was handed over
  std::uint32_t follower = 0;    // in order: the number of the next one there, plus 1; 0: none yet
  CongestionState congestion{};
  PacketSet received{};          // selective repeat: acknowledged out of order
};

// Of messages in order: those of one connection by one queue pair that have not left.
struct Connection {
  std::uint64_t key = 0;   // of the connection and its receiver and queue pair, or its port
  std::uint64_t last = 0;  // message
};
struct Connections {
  pdes::UndoTable<Connection> open;
};

// A message that is being received.
struct Receiving {
  std::uint64_t key = 0;  // sender and number
  MessageBody body{};
  std::uint32_t packets = 0;
  std::uint32_t received = 0;  // packets; with recovery: all before this one
  std::uint64_t bytes = 0;     // on the wire
  core::Time notified{-1};     // when a congestion notification was last sent; negative: never
  std::uint32_t unacknowledged = 0;
  std::uint32_t nacked = 0;    // go-back-n: the packet asked for, plus 1; not asked for twice
  std::uint32_t ack_asked = 0;  // without recovery: each packet is acknowledged up to this count
  std::uint32_t unused = 0;
  PacketSet ahead{};           // selective repeat: came out of order

  [[nodiscard]] static constexpr std::uint64_t key_of(std::uint32_t sender, std::uint32_t message) {
    return std::uint64_t{sender} << 32 | message;
  }
};

// A message that may send its next packet at `at`, or later if the line is busy.
struct Due {
  core::Time at;
  std::uint64_t message = 0;
  friend constexpr auto operator<=>(const Due&, const Due&) = default;
};

struct SendSide {
  core::Time wake_at{-1};            // of the wake that counts; earlier ones are void
  pdes::UndoVector<Due> due;         // a binary heap, least first
  pdes::UndoRing<Packet> control;    // acknowledgements and the like that wait for the line
};
static_assert(sizeof(SendSide) == 48);

struct EndpointState {
  std::uint32_t vertex = 0;
  std::uint16_t ports = 0;
  std::uint8_t channels = 0;  // stored for each port; 0 without flow control
  std::uint8_t extras = 0;    // PortSlots::kSkips: there are SteadyRuns; kInOrder: Connections
  std::uint32_t messages = 0;  // sent so far: the next one's number
  std::uint32_t repeated = 0;  // packets sent again
  pdes::UndoTable<Sending> sending;
  pdes::UndoTable<Receiving> receiving;
};
static_assert(sizeof(EndpointState) == 48);

void describe(pdes::StateArchive& archive, SendSide& side);
void describe(pdes::StateArchive& archive, Connections& connections);

// The parts of an endpoint's block, in their order.
template <class Head>  // EndpointState or const EndpointState
struct EndpointParts : PortParts<Head> {
  EndpointParts() = default;
  explicit EndpointParts(Head& head) {
    PartFinder finder(&head);
    visit(head, finder);
  }
  template <class Has, class Visitor>
  void visit(const Has& has, Visitor&& visitor) {
    PortParts<Head>::visit(has, visitor);
    visitor.array(sides, has.ports);
    visitor.array(runs, PortSlots::skips(has.extras));
    visitor.array(connections, (has.extras & PortSlots::kInOrder) != 0);
  }

  Like<Head, SendSide>* sides = nullptr;
  Like<Head, SteadyRuns>* runs = nullptr;
  Like<Head, Connections>* connections = nullptr;
};

}  // namespace exawarp::model
