// What a vertex tells others during one event of packets that it has given to its lines: those of a
// message that follow each other at even distances go as one event, a Train; a single one as
// itself.
#pragma once

#include <array>
#include <cstdint>

#include "core/time.h"
#include "model/network/packet/packet.h"
#include "model/network/packet/packet_network.h"
#include "model/network/packet/port.h"
#include "pdes/context.h"

namespace exawarp::model {

class TrainOutbox {
 public:
  // Packets of one message that have been given to a line and not yet told of. Fields without
  // initialisers: an event makes an outbox and mostly uses little of it.
  struct Segment {
    std::uint32_t peer;  // LP at the other end of the line
    std::uint32_t source, destination, message;
    std::uint32_t number;  // of the first packet
    std::uint32_t count;
    std::uint16_t in_port;
    std::uint8_t channel, bits;
    std::int64_t spacing_ps;         // where there are two at least
    std::int64_t first_ps, last_ps;  // arrivals at the other end
  };

  TrainOutbox(const PacketNetwork& network, pdes::Context& ctx) : network_(network), ctx_(ctx) {}

  // A full packet, not its message's last, arrives at the other end of `line` at `seen`.
  void add(const PortState& line, const Packet& packet, core::Time seen);
  // What has been added of a message since the last flush, if its end has not been sent; else null.
  [[nodiscard]] Segment* of(std::uint32_t source, std::uint32_t message);
  // `more` packets follow the last one, each `spacing` after the one before.
  void extend(Segment& segment, core::Time spacing, std::uint32_t more);
  void flush();

  // Sends one packet, which arrives at the other end of `line` at `seen`.
  void send(const PortState& line, Packet packet, core::Time seen);
  // Sends that a train does not come as promised from `cut.number` on. Its first packet arrives at
  // `told`.
  void send_cut(const PortState& line, TrainCut cut, core::Time told);

 private:
  static constexpr std::uint32_t kSegmentsMax = 8;
  void send(const Segment& segment);

  const PacketNetwork& network_;
  pdes::Context& ctx_;
  std::uint32_t size_ = 0;
  std::uint32_t oldest_ = 0;  // is sent to make room
  std::array<Segment, kSegmentsMax> segments_;
};

}  // namespace exawarp::model
