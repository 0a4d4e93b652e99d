// Ports of a vertex at packet fidelity: the line that each sends on, and what flow control knows.
//
// A line is a clock. A packet handed to it at `now` starts when the line is free, so its departure
// is known at once and its arrival at the other end is sent at once: one event a packet and hop.
// Only feedback makes packets wait in memory: for credits, or because the port is paused or its
// line is taken further ahead than a pause could undo.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/time.h"
#include "model/block_parts.h"
#include "model/network/packet/packet.h"
#include "model/network/packet/packet_network.h"
#include "model/network/packet/steady/frozen_port.h"
#include "pdes/context.h"
#include "pdes/undo_ring.h"

namespace exawarp::model {

// One cache line.
struct PortState {
  core::Time free;          // when the line has sent all that it was given
  std::uint64_t bytes = 0;  // given to the line, headers included
  std::uint64_t packets = 0;
  std::uint32_t peer = 0;       // LP at the other end
  std::uint16_t peer_port = 0;
  std::uint8_t kind = 0;        // of the link
  std::uint8_t paused = 0;      // bit c: the peer asked to stop channel c
  core::Time waiting;           // wire time of the packets in this port's queues
  core::Time peak;              // greatest depth met by a packet
  std::uint32_t marks = 0;
  std::uint32_t drops = 0;
  std::uint32_t pauses = 0;     // requests to stop that came
  std::uint8_t wake_set = 0;    // a wake is under way
  std::uint8_t turn = 0;        // channel that is served next
  std::uint8_t connected = 0;
  std::uint8_t unused = 0;
};
static_assert(sizeof(PortState) == 64);

struct WaitingPacket {
  Packet packet;          // as it came, but for the channel: that of the link it waits for
  core::Time eligible;    // may not start before
  std::uint64_t in_channel = 0;
};

// Of a port and virtual channel; there are none without flow control.
struct ChannelBuffer {
  std::uint32_t credit_bytes = 0;  // credit: room left in the buffer at the other end
  std::uint32_t owed_bytes = 0;    // credit: freed here and not yet returned to the other end
  core::Time owed_at;              // when the last of these is free
  std::uint32_t held_bytes = 0;    // pfc: of waiting packets that came in here
  std::uint32_t pausing = 0;       // pfc: the other end was asked to stop
  pdes::UndoRing<WaitingPacket> queue;  // of packets that leave here
};
static_assert(sizeof(ChannelBuffer) == 48);

void describe(pdes::StateArchive& archive, ChannelBuffer& buffer);

// What a vertex has of them.
struct PortSlots {
  std::uint32_t ports = 0;
  std::uint32_t channels = 0;  // of each port
  std::uint32_t extras = 0;    // kSkips: each port has a FrozenPort

  static constexpr std::uint32_t kSkips = 1, kInOrder = 2;
  static constexpr bool skips(std::uint64_t extras) { return (extras & kSkips) != 0; }

  [[nodiscard]] static PortSlots of(const PacketNetwork& network, std::uint32_t ports) {
    return {ports, network.has_queues() ? network.channels() : 0,
            (network.skips() ? kSkips : 0) | (network.options().in_order ? kInOrder : 0)};
  }
};

// The parts of a block with ports, in their order. A head has `ports`, `channels` and
// `extras`, as its PortSlots.
template <class Head>
struct PortParts {
  PortParts() = default;
  explicit PortParts(Head& head) {
    PartFinder finder(&head);
    visit(head, finder);
  }
  template <class Has, class Visitor>
  void visit(const Has& has, Visitor&& visitor) {
    visitor.array(ports, has.ports);
    visitor.array(buffers, std::size_t{has.ports} * has.channels);
    visitor.array(frozen, PortSlots::skips(has.extras) ? has.ports : std::size_t{0});
  }
  // Null where the network does not skip.
  [[nodiscard]] Like<Head, FrozenPort>* frozen_of(const Head& head) const {
    return PortSlots::skips(head.extras) ? frozen : nullptr;
  }

  Like<Head, PortState>* ports = nullptr;
  Like<Head, ChannelBuffer>* buffers = nullptr;  // by port, then channel
  Like<Head, FrozenPort>* frozen = nullptr;
};

// The ports of one vertex during one event.
class Ports {
 public:
  Ports(const PacketNetwork& network, VertexId at, PortState* ports, ChannelBuffer* buffers,
        std::uint32_t count, pdes::Context& ctx)
      : network_(network), at_(at), ports_(ports), buffers_(buffers), count_(count), ctx_(ctx) {}

  // Joins the ports of `at`, just made, to their links.
  static void connect(const PacketNetwork& network, VertexId at, PortState* ports,
                      ChannelBuffer* buffers);

  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] core::Time now() const { return ctx_.now(); }
  [[nodiscard]] const PortState& port(std::uint32_t p) const { return ports_[p]; }
  [[nodiscard]] PortState& port(std::uint32_t p) { return ports_[p]; }
  // Requires flow control, c < channels.
  [[nodiscard]] ChannelBuffer& buffer(std::uint32_t p, std::uint32_t c) {
    return buffers_[p * network_.channels() + c];
  }
  // How long a packet that comes now waits for the line.
  [[nodiscard]] core::Time depth(std::uint32_t p) const {
    const core::Time line = ports_[p].free - ctx_.now();
    return (line.ps > 0 ? line : core::Time{0}) + ports_[p].waiting;
  }
  [[nodiscard]] core::Time wire(std::uint32_t p, std::int64_t bytes) const {
    return network_.wire(ports_[p].kind, bytes);
  }
  // Notes the depth that a packet meets.
  void note_depth(std::uint32_t p);
  // Marks a packet that is given to the line where the depth says so. A packet that waited in
  // memory is so marked by what stands behind it, as switches do that mark on the way out: the
  // sender hears of the queue as it is, not as it was when the packet joined it.
  void mark(std::uint32_t p, Packet& packet);
  // Whether the other end has room for `bytes` on channel c. Devices always have.
  [[nodiscard]] bool has_credit(std::uint32_t p, std::uint32_t c, std::uint32_t bytes);
  void use_credit(std::uint32_t p, std::uint32_t c, std::uint32_t bytes);

  // Whether its link is ever slow or down, as the model that handles this event has it.
  [[nodiscard]] bool faulty(std::uint32_t p) const {
    return network_.faults() != nullptr && network_.faults()->touches(at_, p);
  }
  // How long `bytes` take on the line of port p from `start` on, slow links included.
  [[nodiscard]] core::Time time_on_line(std::uint32_t p, std::int64_t bytes,
                                        core::Time start) const;
  // From when a packet that arrives now may start on port `out`.
  [[nodiscard]] core::Time eligible_at(const Packet& packet, std::uint32_t out) const;
  // When a packet that is on the line of port p from `start` to `end` arrives at the other end: its
  // tail where that is its `destination`, else its head where switches cut through.
  [[nodiscard]] core::Time arrival(std::uint32_t p, core::Time start, core::Time end,
                                   bool destination) const {
    const bool at_head = network_.options().cut_through && !destination;
    return (at_head ? start : end) + network_.figures(ports_[p].kind).latency;
  }
  // Whether a packet given to the line now, not to start before `eligible`, meets a failure there
  // and is lost.
  [[nodiscard]] bool loses(std::uint32_t p, std::int64_t bytes, core::Time eligible) const {
    return faulty(p) && meets_failure(p, bytes, std::max(ports_[p].free, eligible));
  }
  // Counts a packet that is lost at port p.
  void drop(std::uint32_t p);

  // Gives the packet to the line, not to start before `eligible` (>= now). Returns when its tail
  // has left.
  core::Time commit(std::uint32_t p, Packet packet, core::Time eligible,
                    core::Time extra_delay = core::Time{0});
  // The same without faults, and tells nobody. Returns when its head starts.
  core::Time occupy(std::uint32_t p, std::uint32_t bytes, core::Time eligible);
  // The same for so many full packets, each of which starts when the line is free.
  void occupy_on(std::uint32_t p, std::uint32_t packets);

 private:
  void take_line(std::uint32_t p, std::uint32_t bytes, core::Time start, core::Time end);
  [[nodiscard]] bool meets_failure(std::uint32_t p, std::int64_t bytes, core::Time start) const;

  const PacketNetwork& network_;
  VertexId at_;
  PortState* ports_;
  ChannelBuffer* buffers_;
  std::uint32_t count_;
  pdes::Context& ctx_;
};

}  // namespace exawarp::model
