// Passing packets on: each goes to the line of its next port, to a queue in memory where flow
// control holds it, or is dropped where a bounded queue is full; and whatever a departure frees is
// returned to the port it came by.
#include "model/network/packet/forwarder.h"

#include <algorithm>

#include "model/network/packet/packet_routing.h"
#include "model/network/packet/port_counters.h"

namespace exawarp::model {
namespace {
using core::Time;
}  // namespace

Forwarder::Passed Forwarder::forward(Packet packet, std::uint32_t foreseen) {
  const std::uint32_t in_port = packet.in_port;
  const std::uint8_t in_channel = packet.channel;
  const bool sane = in_port < ports_.count() && in_channel < network_.channels();
  ctx_.check(sane, "a packet arrived by a port or channel that its vertex does not have");
  if (!sane) return {false, kNoPort};
  const std::uint32_t out = choose_port(network_, ports_, at_, packet, foreseen);
  if (out >= ports_.count()) {
    consumed(packet);
    if (network_.faults() == nullptr) return {false, kNoPort};
    ports_.drop(in_port);  // no way around what is down
    return {true, kNoPort};
  }
  packet.channel = network_.next_channel(at_, in_port, out, packet);
  const std::uint32_t channel = packet.channel;
  const Time eligible = ports_.eligible_at(packet, out);
  ports_.note_depth(out);
  if (!network_.has_queues()) {
    const LinkFigures& figures = network_.figures(ports_.port(out).kind);
    if (ports_.depth(out) > figures.buffer - ports_.wire(out, packet.bytes)) {
      ports_.drop(out);
      return {true, kNoPort};
    }
    ports_.mark(out, packet);
    ports_.commit(out, packet, eligible);
    return {true, out};
  }
  if (ports_.buffer(out, channel).queue.empty() && can_commit(out, channel, packet.bytes)) {
    ports_.mark(out, packet);
    const Time end = commit(out, packet, eligible);
    owe(in_port, in_channel, packet.bytes, end);
    return {true, out};
  }
  return {true, store(out, packet, eligible, in_channel) ? out : kNoPort};
}

bool Forwarder::can_commit(std::uint32_t p, std::uint32_t c, std::uint32_t bytes) {
  const PortState& port = ports_.port(p);
  switch (network_.options().flow_control) {
    case FlowControl::none:
      return true;
    case FlowControl::credit:
      return ports_.has_credit(p, c, bytes);
    case FlowControl::pfc:
      return (port.paused >> c & 1) == 0 &&
             port.free <= ctx_.now() + network_.figures(port.kind).commit;
  }
  return true;
}

Time Forwarder::commit(std::uint32_t p, const Packet& packet, Time eligible, Time extra_delay) {
  if (is_credit() && !ports_.loses(p, packet.bytes, eligible)) {
    ports_.use_credit(p, packet.channel, packet.bytes);
  }
  return ports_.commit(p, packet, eligible, extra_delay);
}

bool Forwarder::store(std::uint32_t out, const Packet& packet, Time eligible,
                      std::uint8_t in_channel) {
  PortState& port = ports_.port(out);
  if (!is_credit()) {
    const LinkFigures& figures = network_.figures(ports_.port(packet.in_port).kind);
    const std::int64_t room = network_.options().xoff_bytes + figures.headroom_bytes;
    if (ports_.buffer(packet.in_port, in_channel).held_bytes + packet.bytes > room) {
      ports_.drop(out);
      return true;
    }
    hold(packet.in_port, in_channel, packet.bytes);
  }
  ctx_.set(port.waiting, port.waiting + ports_.wire(out, packet.bytes));
  ports_.buffer(out, packet.channel).queue.push_back(ctx_, {packet, eligible, in_channel});
  if (!is_credit()) set_wake(out);
  return true;
}

// Gives the line what it may take, channel by channel in turn.
void Forwarder::serve(std::uint32_t p) {
  while (serve_one(p)) {
  }
  if (!is_credit()) set_wake(p);
}

bool Forwarder::serve_one(std::uint32_t p) {
  PortState& port = ports_.port(p);
  const std::uint32_t channels = network_.channels();
  for (std::uint32_t i = 0; i < channels; ++i) {
    const std::uint32_t c = (port.turn + i) % channels;
    pdes::UndoRing<WaitingPacket>& queue = ports_.buffer(p, c).queue;
    if (queue.empty() || !can_commit(p, c, queue.front().packet.bytes)) continue;
    WaitingPacket next = queue.front();
    queue.pop_front(ctx_);
    ctx_.set(port.waiting, port.waiting - ports_.wire(p, next.packet.bytes));
    ports_.mark(p, next.packet);
    const std::uint32_t in_port = next.packet.in_port;
    const auto in_channel = static_cast<std::uint32_t>(next.in_channel);
    const Time end = commit(p, next.packet, std::max(next.eligible, ctx_.now()));
    if (is_credit()) {
      owe(in_port, in_channel, next.packet.bytes, end);
    } else {
      release(in_port, in_channel, next.packet.bytes);
    }
    if (channels > 1) ctx_.set(port.turn, static_cast<std::uint8_t>((c + 1) % channels));
    return true;
  }
  return false;
}

// ---- credits

void Forwarder::on_credit(const CreditReturn& credit) {
  const bool sane = credit.port < ports_.count() && credit.channel < network_.channels();
  ctx_.check(sane && is_credit(), "a credit came for a port or channel that is not there");
  if (!sane || !is_credit()) return;
  ChannelBuffer& there = ports_.buffer(credit.port, credit.channel);
  ctx_.set(there.credit_bytes, there.credit_bytes + credit.bytes);
  ctx_.check(there.credit_bytes <= network_.options().buffer_bytes,
             "more credits came back than there are");
  serve(credit.port);
}

// Room that a packet takes up in the buffer of (p, c) until `at`. It is returned in portions: with
// four packets at least in a buffer, less than one portion is ever held back, so a sender that
// waits always gets its packet's worth once the buffer has emptied.
void Forwarder::owe(std::uint32_t p, std::uint32_t c, std::uint32_t bytes, Time at) {
  if (!is_credit() || network_.is_sink(ctx_.self())) return;
  ChannelBuffer& here = ports_.buffer(p, c);
  const std::uint32_t owed = here.owed_bytes + bytes;
  const Time free_at = std::max(here.owed_at, at);
  if (owed < network_.credit_quantum()) {
    ctx_.set(here.owed_bytes, owed);
    ctx_.set(here.owed_at, free_at);
    return;
  }
  const PortState& port = ports_.port(p);
  const Time back = std::max(free_at - ctx_.now(), Time{0}) + network_.figures(port.kind).latency;
  ctx_.send({port.peer}, back, kind_of(PacketEvent::credit),
            CreditReturn{owed, port.peer_port, static_cast<std::uint8_t>(c), 0});
  if (here.owed_bytes == 0) return;
  ctx_.set(here.owed_bytes, 0u);
  ctx_.set(here.owed_at, Time{0});
}

// ---- pauses

void Forwarder::on_pause(const Pause& pause) {
  const bool sane =
      network_.has_queues() && pause.port < ports_.count() && pause.channel < network_.channels();
  ctx_.check(sane, "a pause came for a port or channel that is not there");
  if (!sane) return;
  PortState& port = ports_.port(pause.port);
  const auto bit = static_cast<std::uint8_t>(1u << pause.channel);
  if (pause.on != 0) {
    ctx_.set(port.paused, static_cast<std::uint8_t>(port.paused | bit));
    ctx_.add(port.pauses, 1u);
    if (network_.options().count_ports) {
      PortCounters::emit(ctx_, PortRecord::paused, pause.port);
    }
    return;
  }
  ctx_.set(port.paused, static_cast<std::uint8_t>(port.paused & ~bit));
  serve(pause.port);
}

void Forwarder::on_wake(std::uint32_t p) {
  ctx_.check(p < ports_.count(), "a port woke that is not there");
  if (p >= ports_.count() || !network_.has_queues()) return;
  ctx_.set(ports_.port(p).wake_set, std::uint8_t{0});
  serve(p);
}

// Where packets wait for the line and for nothing else, wakes the port when half of what was
// committed has left. A paused channel wakes by its release.
void Forwarder::set_wake(std::uint32_t p) {
  PortState& port = ports_.port(p);
  if (port.wake_set != 0) return;
  bool wanted = false;
  for (std::uint32_t c = 0; c < network_.channels(); ++c) {
    wanted = wanted || ((port.paused >> c & 1) == 0 && !ports_.buffer(p, c).queue.empty());
  }
  if (!wanted) return;
  const Time half{network_.figures(port.kind).commit.ps / 2};
  const Time delay = std::max(port.free - half - ctx_.now(), Time{1});
  ctx_.set(port.wake_set, std::uint8_t{1});
  ctx_.send(ctx_.self(), delay, kind_of(PacketEvent::wake), PortWake{p, 0});
}

void Forwarder::hold(std::uint32_t p, std::uint32_t c, std::uint32_t bytes) {
  ChannelBuffer& in = ports_.buffer(p, c);
  ctx_.set(in.held_bytes, in.held_bytes + bytes);
  if (in.pausing != 0 || in.held_bytes < network_.options().xoff_bytes) return;
  ctx_.set(in.pausing, 1u);
  send_pause(p, c, true);
}

void Forwarder::release(std::uint32_t p, std::uint32_t c, std::uint32_t bytes) {
  ChannelBuffer& in = ports_.buffer(p, c);
  ctx_.set(in.held_bytes, in.held_bytes - bytes);
  if (in.pausing == 0 || in.held_bytes > network_.options().xon_bytes) return;
  ctx_.set(in.pausing, 0u);
  send_pause(p, c, false);
}

// Pause frames overtake what waits, and take no time of the line that they use.
void Forwarder::send_pause(std::uint32_t p, std::uint32_t c, bool on) {
  const PortState& port = ports_.port(p);
  const Time delay =
      network_.figures(port.kind).latency + ports_.wire(p, network_.options().control_bytes);
  ctx_.send({port.peer}, delay, kind_of(PacketEvent::pause),
            Pause{port.peer_port, static_cast<std::uint8_t>(c), static_cast<std::uint8_t>(on)});
}

}  // namespace exawarp::model
