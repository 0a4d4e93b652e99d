// What travels at packet fidelity: the packet, 32 bytes, and the events that carry control.
// An event of kind `packet` is its arrival at a vertex: of the head where the vertex is a switch
// that cuts through, of the tail otherwise.
#pragma once

#include <cstdint>

#include "core/time.h"
#include "pdes/event.h"

namespace exawarp::model {

// Kinds of events between ports and endpoints. The numbers lie above those of DeviceEvent and of
// traffic, so that one logical process can take all of them.
enum class PacketEvent : pdes::EventKind {
  packet = 64,  // Packet
  credit,       // CreditReturn, to the sender's side of a link
  pause,        // Pause, likewise
  wake,         // PortWake, to itself: the line of a port is soon free
  header,       // MessageHeader, from endpoint to endpoint
  timeout,      // Timeout, to itself
  train,        // Train: its first packet
  cut,          // TrainCut
  freeze,       // Freeze: a line stands still (steady/frozen_port.h)
  thaw,         // Thaw: it goes on
  reply,        // Packet: an answer that did not wait for a line that stands still
  skip,         // Skip, to the sender of a message
  skipped,      // Skip, from it to the receiver
};
constexpr pdes::EventKind kFirstPacketEvent = 64;

enum class PacketType : std::uint8_t {
  data,
  ack,            // number: all packets before it were received
  selective_ack,  // number: this packet was received, out of order
  nack,           // number: the packet expected; later ones were dropped
  cnp,            // congestion notification (DCQCN)
};

constexpr std::uint32_t kNoWaypoint = 0xffffffffu;

struct Packet {
  std::uint32_t source = 0;       // device
  std::uint32_t destination = 0;  // device
  std::uint32_t message = 0;      // its number at the sender of the data
  std::uint32_t number = 0;       // of the packet in its message; for acknowledgements see above
  std::uint32_t bytes = 0;        // on the wire, headers included
  std::uint32_t waypoint = kNoWaypoint;  // vertex to pass first
  std::uint32_t stamp = 0;        // when it was sent (stamp_of); acknowledgements return it
  std::uint16_t in_port = 0;      // of the vertex where it arrives
  std::uint8_t channel = 0;       // virtual channel of the link that it came by
  std::uint8_t bits = 0;          // type, and those below

  static constexpr std::uint8_t kTypeMask = 0x07;
  static constexpr std::uint8_t kMarkedBit = 0x08;  // congestion experienced (RFC 3168)
  static constexpr std::uint8_t kDetourBit = 0x10;  // routing has decided about a waypoint
  static constexpr std::uint8_t kAckNowBit = 0x20;  // the sender waits for an acknowledgement
  static constexpr std::uint8_t kAroundBit = 0x40;  // takes whatever way is left (escape_routes.h)
  static constexpr std::uint8_t kLastBit = 0x80;  // of its message; only where there are trains
  [[nodiscard]] PacketType type() const { return static_cast<PacketType>(bits & kTypeMask); }
  [[nodiscard]] bool marked() const { return (bits & kMarkedBit) != 0; }
  [[nodiscard]] bool goes_around() const { return (bits & kAroundBit) != 0; }
};
static_assert(sizeof(Packet) == pdes::kPayloadBytes);

// Stamps wrap after 4.4 s, differences are exact below.
constexpr int kStampShift = 10;
constexpr std::uint32_t stamp_of(core::Time t) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(t.ps) >> kStampShift);
}

struct CreditReturn {
  std::uint32_t bytes;
  std::uint16_t port;  // of the receiver of the event
  std::uint8_t channel;
  std::uint8_t unused;
};

struct Pause {
  std::uint16_t port;  // of the receiver of the event
  std::uint8_t channel;
  std::uint8_t on;  // 1: stop, 0: go on
};

struct PortWake {
  std::uint32_t port;
  std::uint32_t of_endpoint;  // 1: for its own messages; 0: for packets that pass through
};

struct Timeout {
  std::uint32_t message;
  std::uint32_t acked;  // packets acknowledged when the timer was set
};

// Full packets of one message, evenly spaced, that go the same way (train_forwarder.h). The event
// is the first one's arrival; the others will follow, unless a TrainCut says otherwise. The last
// packet of a message is never in a train.
struct Train {
  std::uint32_t source = 0;       // device
  std::uint32_t destination = 0;  // device
  std::uint32_t message = 0;
  std::uint32_t number = 0;       // of the first packet
  core::Time spacing{};           // of arrivals
  std::uint32_t count = 0;        // packets, two at least
  std::uint16_t in_port = 0;      // as in Packet, and so are the others
  std::uint8_t channel = 0;
  std::uint8_t bits = 0;

  [[nodiscard]] Packet first(std::int64_t full_bytes) const {
    return {.source = source,
            .destination = destination,
            .message = message,
            .number = number,
            .bytes = static_cast<std::uint32_t>(full_bytes),
            .in_port = in_port,
            .channel = channel,
            .bits = bits};
  }
};
static_assert(sizeof(Train) == pdes::kPayloadBytes);

// Packets of a train from `number` on do not come when it said. It arrives before the first of them
// would have; they are sent anew.
struct TrainCut {
  std::uint32_t source, destination, message, number, in_port;

  // One of these packets, as far as its way follows from it.
  [[nodiscard]] Packet packet() const {
    return {.source = source,
            .destination = destination,
            .message = message,
            .in_port = static_cast<std::uint16_t>(in_port)};
  }
};

// What the layer above wants delivered with a message.
struct MessageBody {
  std::uint64_t words[3] = {0, 0, 0};

  // In the last word: the connection is not one receiver's. Its messages that leave by one port
  // follow each other, whomever they are for.
  static constexpr std::uint32_t kOneByOneBit = 1u << 15;

  // Which of the sender's connections to the receiver it goes by: the low half of the last word.
  [[nodiscard]] constexpr std::uint32_t connection() const {
    return static_cast<std::uint32_t>(words[2]);
  }
  [[nodiscard]] constexpr bool one_by_one() const { return (connection() & kOneByOneBit) != 0; }
};

// Goes from endpoint to endpoint beside the packets, over the least latency of the way, when a
// message's first packet leaves; so it always comes before that packet.
struct MessageHeader {
  std::uint32_t message;
  std::uint32_t packets;
  MessageBody body;
};
static_assert(sizeof(MessageHeader) == pdes::kPayloadBytes);

constexpr pdes::EventKind kind_of(PacketEvent e) { return static_cast<pdes::EventKind>(e); }

}  // namespace exawarp::model
