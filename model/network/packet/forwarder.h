// Passing packets on, as switches do, and devices where they have links to each other.
//
// Cost: without flow control one event a packet and hop, the arrival. Credits add one for each
// PacketNetwork::credit_quantum() bytes. Pauses add those that stop and start a port, and while
// packets wait one wake for each stretch of line that is committed at once.
#pragma once

#include <cstdint>

#include "model/network/packet/port.h"

namespace exawarp::model {

// One vertex during one event.
class Forwarder {
 public:
  Forwarder(const PacketNetwork& network, VertexId at, Ports& ports, pdes::Context& ctx)
      : network_(network), at_(at), ports_(ports), ctx_(ctx) {}

  struct Passed {
    bool had_route;        // false: the topology gives it none
    std::uint32_t port;  // that it leaves by; kNoPort: it was dropped
  };
  // A packet for another vertex arrived. `foreseen` as for choose_port().
  Passed forward(Packet packet, std::uint32_t foreseen = 0);
  // A packet that arrived here stays here: its room is free.
  void consumed(const Packet& packet) {
    owe(packet.in_port, packet.channel, packet.bytes, ctx_.now());
  }
  // Takes the answers out of the queues of port p, which stands still, and gives each to
  // `jump(packet)`.
  template <class Jump>
  void take_answers_out(std::uint32_t p, Jump&& jump);
  void on_credit(const CreditReturn& credit);
  void on_pause(const Pause& pause);
  void on_wake(std::uint32_t port);

  // Whether a packet on channel c may be given to the line of port p now.
  [[nodiscard]] bool can_commit(std::uint32_t p, std::uint32_t c, std::uint32_t bytes);
  // Gives it to the line. Requires can_commit.
  core::Time commit(std::uint32_t p, const Packet& packet, core::Time eligible,
                    core::Time extra_delay = core::Time{0});

 private:
  [[nodiscard]] bool is_credit() const {
    return network_.options().flow_control == FlowControl::credit;
  }
  bool store(std::uint32_t out, const Packet& packet, core::Time eligible, std::uint8_t in_channel);
  void serve(std::uint32_t p);
  bool serve_one(std::uint32_t p);
  void set_wake(std::uint32_t p);
  void owe(std::uint32_t p, std::uint32_t c, std::uint32_t bytes, core::Time at);
  void hold(std::uint32_t p, std::uint32_t c, std::uint32_t bytes);
  void release(std::uint32_t p, std::uint32_t c, std::uint32_t bytes);
  void send_pause(std::uint32_t p, std::uint32_t c, bool on);

  const PacketNetwork& network_;
  VertexId at_;
  Ports& ports_;
  pdes::Context& ctx_;
};

template <class Jump>
void Forwarder::take_answers_out(std::uint32_t p, Jump&& jump) {
  if (!network_.has_queues()) return;
  for (std::uint32_t c = 0; c < network_.channels(); ++c) {
    pdes::UndoRing<WaitingPacket>& queue = ports_.buffer(p, c).queue;
    const std::uint32_t waiting = queue.size();
    for (std::uint32_t i = 0; i < waiting; ++i) {
      const WaitingPacket next = queue.front();
      queue.pop_front(ctx_);
      if (next.packet.type() == PacketType::data) {
        queue.push_back(ctx_, next);
        continue;
      }
      PortState& port = ports_.port(p);
      ctx_.set(port.waiting, port.waiting - ports_.wire(p, next.packet.bytes));
      const auto in_channel = static_cast<std::uint32_t>(next.in_channel);
      if (is_credit()) {
        owe(next.packet.in_port, in_channel, next.packet.bytes, ctx_.now());
      } else {
        release(next.packet.in_port, in_channel, next.packet.bytes);
      }
      jump(next.packet);
    }
  }
}

}  // namespace exawarp::model
