// Receiving, acknowledging and repairing.
//
// Without recovery nothing is lost, and a count of packets says when a message is complete,
// whatever their order. Go-back-n takes packets in order only and asks once for the first that is
// missing. Selective repeat keeps what comes out of order, within a window, and acknowledges it
// one by one; the sender fills holes that lie further back than reordering explains. A timer
// catches what these miss; after it a message starts over with one packet under way, and doubles
// that with each answer, as TCP does.
#include <algorithm>

#include "core/random.h"
#include "model/network/message_trace.h"
#include "model/network/packet/endpoint.h"
#include "model/network/packet/packet_routing.h"

namespace exawarp::model {
namespace {

using core::Time;

constexpr std::uint32_t kEverything = 0xffffffffu;  // acknowledges a whole message
// A hole this far behind a packet that came is a loss (RFC 5681: three duplicates); packets that
// take many ways overtake each other by more.
constexpr std::uint32_t kReorderOneRoute = 3;
constexpr std::uint32_t kReorderManyRoutes = 64;

constexpr std::uint32_t kBackoffMax = 6;  // times 64
constexpr std::uint64_t kTimerStream = 0x710e;

constexpr std::uint64_t bit_of(std::uint32_t number) { return std::uint64_t{1} << (number % 64); }
std::uint64_t& word_of(PacketSet& set, std::uint32_t number) {
  return set[number / 64 % set.size()];
}
bool contains(PacketSet& set, std::uint32_t number) {
  return (word_of(set, number) & bit_of(number)) != 0;
}

}  // namespace

void Endpoint::on_packet(const Packet& packet) {
  if (packet.destination != at().value) {
    const Forwarder::Passed passed = forwarder_.forward(packet);
    ctx_.check(passed.had_route, "a packet came to a device that is not on its way");
    if (passed.port < state_.ports) take_turn(passed.port);
    return;
  }
  forwarder_.consumed(packet);
  if (packet.type() == PacketType::data) return on_data(packet);
  on_reply(packet);
}

void Endpoint::on_data(const Packet& packet) {
  Receiving* r = state_.receiving.find(Receiving::key_of(packet.source, packet.message));
  if (r == nullptr) {
    const bool repeated = options().recovery != Recovery::none;
    ctx_.check(repeated, "a packet came without its message's header");
    if (repeated) reply(packet, PacketType::ack, kEverything);
    return;
  }
  if (network_.trains()) return take_last(*r, packet);
  notify(*r, packet);
  if (!take_in(*r, packet)) return;
  ctx_.set(r->bytes, r->bytes + packet.bytes);
  const bool complete = r->received >= r->packets;
  if (acknowledges()) {
    const bool now = complete || is_to_answer(*r, packet);
    ctx_.set(r->unacknowledged, now ? 0 : r->unacknowledged + 1);
    if (now) reply(packet, PacketType::ack, r->received);
  }
  if (complete) deliver(*r, packet, r->bytes);
}

// Whether to acknowledge what has come with this packet. One that asks for it may have overtaken
// some before it, which the sender waits to hear of, too.
bool Endpoint::is_to_answer(Receiving& r, const Packet& packet) {
  const bool asks = (packet.bits & Packet::kAckNowBit) != 0;
  if (options().recovery == Recovery::none) {
    if (asks && r.ack_asked <= packet.number) ctx_.set(r.ack_asked, packet.number + 1);
    if (r.received <= r.ack_asked) return true;
  }
  return asks || r.unacknowledged + 1 >= options().ack_every;
}

// Where there are trains a device is told of a message's last packet alone: the others go the same
// way, and so have come.
void Endpoint::take_last(Receiving& r, const Packet& packet) {
  const bool is_last = packet.number + 1 == r.packets;
  ctx_.check(is_last, "a device was told of a packet that is not its message's last");
  if (!is_last) return;
  const auto full = static_cast<std::uint64_t>(network_.full_bytes());
  deliver(r, packet, packet.number * full + packet.bytes);
}

void Endpoint::deliver(Receiving& r, const Packet& last, std::uint64_t bytes) {
  const MessageBody body = r.body;
  tell_end(last);
  state_.receiving.erase(ctx_, &r);
  if (options().trace_messages) {
    MessageTrace::received_packets(ctx_, {last.source}, last.message);
  }
  settle();
  listener_.delivered({last.source}, body, bytes);
}

// Returns whether the packet is one that was still missing.
bool Endpoint::take_in(Receiving& r, const Packet& packet) {
  const std::uint32_t number = packet.number;
  if (options().recovery == Recovery::none) {
    ctx_.set(r.received, r.received + 1);
    return true;
  }
  if (number < r.received) {
    reply(packet, PacketType::ack, r.received);
    return false;
  }
  if (options().recovery == Recovery::go_back_n) {
    if (number == r.received) {
      ctx_.set(r.received, number + 1);
      return true;
    }
    if (r.nacked != r.received + 1) {
      ctx_.set(r.nacked, r.received + 1);
      reply(packet, PacketType::nack, r.received);
    }
    return false;
  }
  if (number - r.received >= kRepeatWindow) return false;
  if (number != r.received) {
    const bool is_new = !contains(r.ahead, number);
    if (is_new) {
      ctx_.set(word_of(r.ahead, number), word_of(r.ahead, number) | bit_of(number));
      ctx_.set(r.bytes, r.bytes + packet.bytes);
    }
    reply(packet, PacketType::selective_ack, number);
    return false;
  }
  std::uint32_t received = number + 1;
  while (contains(r.ahead, received)) {
    ctx_.set(word_of(r.ahead, received), word_of(r.ahead, received) & ~bit_of(received));
    ++received;
  }
  ctx_.set(r.received, received);
  return true;
}

void Endpoint::notify(Receiving& r, const Packet& packet) {
  const Time interval = network_.congestion_traits().notify_every;
  if (interval.ps < 0 || !packet.marked()) return;
  if (r.notified.ps >= 0 && ctx_.now() - r.notified < interval) return;
  ctx_.set(r.notified, ctx_.now());
  reply(packet, PacketType::cnp, 0);
}

void Endpoint::reply(const Packet& to, PacketType type, std::uint32_t number) {
  Packet packet{.source = at().value,
                .destination = to.source,
                .message = to.message,
                .number = number,
                .bytes = static_cast<std::uint32_t>(options().control_bytes),
                .stamp = to.stamp,
                .bits = static_cast<std::uint8_t>(type)};
  const std::uint32_t port = choose_port(network_, ports_, at(), packet);
  ctx_.check(port < state_.ports || network_.faults() != nullptr,
             "an acknowledgement has no way to its destination");
  if (port >= state_.ports) return;
  packet.channel = network_.next_channel(at(), state_.ports, port, packet);
  parts_.sides[port].control.push_back(ctx_, packet);
  pump_control(port);
}

// ---- at the sender

void Endpoint::on_reply(const Packet& packet) {
  Sending* s = state_.sending.find(packet.message);
  if (s == nullptr || s->to != packet.source) return;  // late: the message is over
  switch (packet.type()) {
    case PacketType::ack: return advance(*s, packet.number, packet);
    case PacketType::nack: return on_nack(*s, packet);
    case PacketType::selective_ack: return on_selective_ack(*s, packet);
    case PacketType::cnp: {
      CongestionState c = s->congestion;
      congestion().notified(c, line_of(s->port), ctx_.now());
      ctx_.set(s->congestion, c);
      count_notification(s->key);
      return;
    }
    case PacketType::data: return;
  }
  ctx_.check(false, "a packet of unknown type");
}

// All before `acked` have been received. `s` is void afterwards if that is the whole message.
void Endpoint::advance(Sending& s, std::uint32_t acked, const Packet& packet) {
  acked = std::min(acked, s.packets);
  if (acked > s.acked) {
    if (network_.congestion_traits().acknowledged) {
      CongestionState c = s.congestion;
      const std::uint32_t passed = stamp_of(stamp_time(s.key, ctx_.now())) - packet.stamp;
      congestion().acknowledged(
          c, line_of(s.port),
          {ctx_.now(), acked - s.acked, Time{std::int64_t{passed} << kStampShift}});
      ctx_.set(s.congestion, c);
    }
    if (options().recovery == Recovery::selective_repeat) {
      const std::uint32_t end = std::min(acked, s.acked + kRepeatWindow);
      for (std::uint32_t n = s.acked; n < end; ++n) {
        if (contains(s.received, n)) {
          ctx_.set(word_of(s.received, n), word_of(s.received, n) & ~bit_of(n));
        }
      }
    }
    ctx_.set(s.acked, acked);
    if (s.next < acked) ctx_.set(s.next, acked);
    if (s.sent < acked) ctx_.set(s.sent, acked);
    if (s.next < s.sent) settle_next(s);
    if (s.restart != 0) {
      const bool open = s.restart * 2u >= kRepeatWindow;
      ctx_.set(s.restart, static_cast<std::uint16_t>(open ? 0 : s.restart * 2));
    }
  }
  if (s.acked == s.packets) {
    forget_run(s.key);
    state_.sending.erase(ctx_, &s);
    return;
  }
  const std::uint32_t port = s.port;
  make_due(s);
  pump(port);
}

void Endpoint::on_nack(Sending& s, const Packet& packet) {
  if (packet.number < s.acked || packet.number >= s.packets) return;
  ctx_.set(s.next, packet.number);
  advance(s, packet.number, packet);
}

void Endpoint::on_selective_ack(Sending& s, const Packet& packet) {
  const std::uint32_t number = packet.number;
  if (number <= s.acked || number >= s.sent || number - s.acked >= kRepeatWindow) return;
  if (!contains(s.received, number)) {
    ctx_.set(word_of(s.received, number), word_of(s.received, number) | bit_of(number));
  }
  const std::uint32_t from = std::max(s.acked, s.repair_end);
  const std::uint32_t reorder =
      network_.routing_traits().keeps_order ? kReorderOneRoute : kReorderManyRoutes;
  if (number < from + reorder || s.next < s.sent) return;
  ctx_.set(s.repair_end, number);
  ctx_.set(s.next, from);
  settle_next(s);
  const std::uint32_t port = s.port;
  make_due(s);
  pump(port);
}

// Between one and two timeouts from now, at random: messages that lost packets together would
// otherwise repeat them together and lose them again, for ever.
void Endpoint::set_timeout(const Sending& s) {
  __extension__ using Wide = unsigned __int128;
  const Time least = options().retransmit_timeout * (std::int64_t{1} << s.timeouts);
  const std::uint64_t which = std::uint64_t{ctx_.self().value} << 32 | s.key;
  const std::uint64_t draw = core::random_bits(
      core::stream_of(options().routing.seed ^ kTimerStream, which, s.acked), s.timeouts);
  const auto more =
      static_cast<std::int64_t>(Wide{draw} * static_cast<std::uint64_t>(least.ps) >> 64);
  ctx_.send(ctx_.self(), least + Time{more}, kind_of(PacketEvent::timeout),
            Timeout{static_cast<std::uint32_t>(s.key), s.acked});
}

void Endpoint::on_timeout(const Timeout& timeout) {
  Sending* s = state_.sending.find(timeout.message);
  if (s == nullptr) return;
  const bool progress = s->acked != timeout.acked || s->sent == s->acked;
  const auto in_a_row = static_cast<std::uint16_t>(std::min(s->timeouts + 1u, kBackoffMax));
  if (!progress && is_cut_off(*s)) return;  // given up: it stays unfinished
  if (!progress || s->timeouts != 0) ctx_.set(s->timeouts, progress ? std::uint16_t{0} : in_a_row);
  set_timeout(*s);
  if (progress) return;
  if (network_.congestion_traits().has_state) {
    CongestionState c = s->congestion;
    congestion().timed_out(c, line_of(s->port));
    ctx_.set(s->congestion, c);
  }
  ctx_.set(s->restart, std::uint16_t{1});
  ctx_.set(s->repair_end, s->sent);
  ctx_.set(s->next, s->acked);
  if (network_.faults() != nullptr) take_another_route(*s);
  const std::uint32_t port = s->port;
  make_due(*s);
  pump(port);
}

// Whether failures leave no way to the receiver or back, now and for ever.
bool Endpoint::is_cut_off(const Sending& s) const {
  const LiveRoutes* routes = network_.routes();
  if (routes == nullptr) return false;
  const core::DeviceId here{at().value}, there{s.to};
  return routes->connected_from(here, there, ctx_.now()) == Time::max() ||
         routes->connected_from(there, here, ctx_.now()) == Time::max();
}

// What a message has found its way by may have failed since, or come back. Its entry in the old
// port's list is passed over there.
void Endpoint::take_another_route(Sending& s) {
  const Route route = route_of(s);
  if (route.port >= state_.ports) return;
  if (route.port != s.port) {
    ctx_.set(s.port, static_cast<std::uint16_t>(route.port));
    ctx_.set(s.due, std::uint8_t{0});
  }
  ctx_.set(s.channel, static_cast<std::uint8_t>(route.channel));
  ctx_.set(s.waypoint, route.waypoint);
}

}  // namespace exawarp::model
