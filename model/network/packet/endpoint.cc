// Sending. A message is due at the earliest time that its next packet may start; each port keeps
// the messages that are due in a heap, and whoever is due first sends a packet and is due again
// when that has left, or later where its rate says so. So equal messages take turns, but for those
// of a connection: of these the first is due, and the others when it has left.
//
// A line is given packets up to LinkFigures::commit ahead, and the endpoint wakes when half of
// that has left: one event of its own for a few packets, none where nothing is to be sent. What
// wakes do comes before all else that their device does in the same instant (settle()), whichever
// event is first, so that they can be left out where it is known (endpoint_trains.cc). What waits
// for credits, a release or an acknowledgement waits for their event. Where a device passes packets
// of others on, its own and theirs take turns.
#include "model/network/packet/endpoint.h"

#include <algorithm>
#include <functional>
#include <new>

#include "core/random.h"
#include "model/network/message_trace.h"
#include "model/network/packet/packet_routing.h"
#include "pdes/undo_heap.h"

namespace exawarp::model {
namespace {

using core::Time;

static_assert(std::has_unique_object_representations_v<Sending>);
static_assert(std::has_unique_object_representations_v<Receiving>);
static_assert(std::has_unique_object_representations_v<Packet>);
static_assert(std::has_unique_object_representations_v<Due>);

bool contains(const PacketSet& set, std::uint32_t number) {
  return (set[number / 64 % set.size()] >> (number % 64) & 1) != 0;
}

}  // namespace

void describe(pdes::StateArchive& archive, SendSide& side) {
  archive.word(side.wake_at);
  archive.digest_word(side.due.size());
  side.due.describe(archive, [&](Due& due) { archive.bytes(&due); });
  archive.digest_word(side.control.size());
  side.control.describe(archive, [&](Packet& packet) { archive.bytes(&packet); });
}

void describe(pdes::StateArchive& archive, Connections& connections) {
  connections.open.describe(archive, [&](Connection& open) { archive.bytes(&open); });
}

Endpoint::Endpoint(const PacketNetwork& network, EndpointState& state, pdes::Context& ctx,
                   EndpointListener& listener)
    : network_(network),
      state_(state),
      parts_(state),
      ctx_(ctx),
      listener_(listener),
      ports_(network, {state.vertex}, parts_.ports, parts_.buffers, state.ports, ctx),
      forwarder_(network, {state.vertex}, ports_, ctx),
      frozen_(network, ports_, parts_.frozen_of(state), ctx),
      outbox_(network, ctx) {}

void Endpoint::initialise(const PacketNetwork& network, VertexId at, EndpointState& state) {
  ::new (&state) EndpointState{};
  state.vertex = at.value;
  const PortSlots slots = PortSlots::of(network, network.topology().ports(at));
  state.ports = static_cast<std::uint16_t>(slots.ports);
  state.channels = static_cast<std::uint8_t>(slots.channels);
  state.extras = static_cast<std::uint8_t>(slots.extras);
  EndpointParts<EndpointState> parts;
  parts.visit(state, PartMaker(&state));
  Ports::connect(network, at, parts.ports, parts.buffers);
}

std::uint32_t Endpoint::state_bytes(const PacketNetwork& network) {
  std::uint32_t ports = 0;
  const Topology& topology = network.topology();
  for (std::uint32_t d = 0; d < topology.devices(); ++d) {
    ports = std::max(ports, topology.ports({d}));
  }
  PartFinder finder(static_cast<const EndpointState*>(nullptr));
  EndpointParts<EndpointState>{}.visit(PortSlots::of(network, ports), finder);
  return static_cast<std::uint32_t>(finder.bytes());
}

void Endpoint::describe(pdes::StateArchive& archive, EndpointState& state) {
  archive.kept(state.vertex);
  archive.kept(state.ports);
  archive.kept(state.channels);
  archive.kept(state.extras);
  archive.pair(state.messages, state.repeated);
  EndpointParts<EndpointState>{}.visit(state, ArrayDescriber(&state, archive));
  state.sending.describe(archive, [&](Sending& s) { archive.bytes(&s); });
  state.receiving.describe(archive, [&](Receiving& r) { archive.bytes(&r); });
}

void Endpoint::handle(const pdes::Event& event) {
  if (network_.skips() && handle_still(event)) return;
  switch (static_cast<PacketEvent>(event.kind)) {
    case PacketEvent::packet: return on_packet(event.as<Packet>());
    case PacketEvent::credit:
    case PacketEvent::pause:
    case PacketEvent::wake: return on_port_event(event);
    case PacketEvent::header: {
      const auto header = event.as<MessageHeader>();
      const std::uint64_t key = Receiving::key_of(event.source.value, header.message);
      const bool is_new = state_.receiving.find(key) == nullptr;
      ctx_.check(is_new, "a message's header came twice");
      if (!is_new) return;
      state_.receiving.insert(ctx_,
                              {.key = key, .body = header.body, .packets = header.packets});
      return;
    }
    case PacketEvent::timeout: return on_timeout(event.as<Timeout>());
    case PacketEvent::train:
    case PacketEvent::cut:
    case PacketEvent::freeze:
    case PacketEvent::thaw:
    case PacketEvent::reply:
    case PacketEvent::skip:
    case PacketEvent::skipped: break;
  }
  ctx_.check(false, "an endpoint received an event of unknown kind");
}

void Endpoint::on_port_event(const pdes::Event& event) {
  std::uint32_t port = 0;
  if (event.kind == kind_of(PacketEvent::credit)) {
    const auto credit = event.as<CreditReturn>();
    port = credit.port;
    forwarder_.on_credit(credit);
  } else if (event.kind == kind_of(PacketEvent::pause)) {
    const auto pause = event.as<Pause>();
    port = pause.port;
    forwarder_.on_pause(pause);
  } else {
    const auto wake = event.as<PortWake>();
    port = wake.port;
    if (port < state_.ports && wake.of_endpoint != 0) {
      return settle();  // void where another one was set since
    }
    forwarder_.on_wake(port);
  }
  if (port < state_.ports) pump(port);
}

void Endpoint::settle() {
  for (std::uint32_t port = 0; port < state_.ports; ++port) {
    SendSide& side = parts_.sides[port];
    if (network_.trains()) catch_up(port);
    if (side.wake_at != ctx_.now()) continue;
    ctx_.set(side.wake_at, Time{-1});
    pump(port);
  }
}

void Endpoint::send(const OutgoingMessage& message) {
  const bool sane = message.to.value < network_.topology().devices() &&
                    message.to.value != at().value && message.bytes >= 0 &&
                    options().can_carry(message.bytes);
  ctx_.check(sane, "a message to nobody, or of no possible size");
  if (!sane) return;
  const std::int64_t whole = std::max<std::int64_t>(message.bytes - 1, 0) / options().packet_bytes;
  const std::int64_t last = message.bytes - whole * options().packet_bytes + options().header_bytes;
  Sending s{.key = state_.messages, .body = message.body, .to = message.to.value};
  s.packets = static_cast<std::uint32_t>(whole + 1);
  s.last_bytes = static_cast<std::uint32_t>(std::max<std::int64_t>(last, 1));
  if (options().trace_messages) {
    MessageTrace::sent(ctx_, message.to, state_.messages,
                       static_cast<std::uint64_t>(message.bytes), message.body);
  }
  ctx_.set(state_.messages, state_.messages + 1);

  const Route route = route_of(s);
  ctx_.check(route.port < state_.ports, "a message has no way to its destination");
  if (route.port >= state_.ports) return;
  const std::uint32_t port = route.port;
  s.port = s.first_port = static_cast<std::uint16_t>(port);
  s.waypoint = route.waypoint;
  s.channel = static_cast<std::uint8_t>(route.channel);
  if (network_.congestion_traits().has_state) {
    const core::DeviceId here{at().value};
    const Time round_trip = core::sum_to_end(
        message.overhead + network_.unloaded_delay(here, message.to, network_.full_bytes()),
        network_.unloaded_delay(message.to, here, options().control_bytes));
    s.congestion = congestion().start(line_of(port), round_trip);
  }
  s.endpoint_delay = network_.endpoint_delay({at().value}, message.to) + message.overhead;
  s.not_before = ctx_.now();
  ctx_.check(parts_.sides[port].wake_at > ctx_.now() || parts_.sides[port].wake_at.ps < 0,
             "a message came before what its line was given until then");
  if (options().in_order) join_connection(s);
  if (network_.trains() && s.waits == 0) part_trains(port);
  make_due(state_.sending.insert(ctx_, s));
  if (options().recovery != Recovery::none) set_timeout(s);
  if (s.waits != 0) return;
  tell_start(s);
  pump(port);
}

// By which port a message leaves, and over which waypoint. Where failures leave no way, as if there
// were none: its packets are lost, and a timer tries again.
Endpoint::Route Endpoint::route_of(const Sending& s) {
  Packet first = packet_of(s, 0);
  first.waypoint = kNoWaypoint;
  first.channel = 0;
  first.bits &= static_cast<std::uint8_t>(~(Packet::kDetourBit | Packet::kAroundBit));
  std::uint32_t port = choose_port(network_, ports_, at(), first);
  if (port >= state_.ports && network_.faults() != nullptr) {
    port = usual_port(network_, ports_, at(), first);
  }
  if (port >= state_.ports) return {port, kNoWaypoint, 0};
  return {port, first.waypoint, network_.next_channel(at(), state_.ports, port, first)};
}

Packet Endpoint::packet_of(const Sending& s, std::uint32_t number) const {
  Packet p{.source = at().value,
           .destination = s.to,
           .message = static_cast<std::uint32_t>(s.key),
           .number = number,
           .bytes = number + 1 == s.packets ? s.last_bytes
                                            : static_cast<std::uint32_t>(network_.full_bytes()),
           .waypoint = s.waypoint};
  p.channel = s.channel;
  if (s.channel == network_.around_channel()) p.bits |= Packet::kAroundBit;
  // Of several ports the message has chosen one, and with it the way.
  if (state_.ports > 1) p.bits |= Packet::kDetourBit;
  return p;
}

// ---- who sends next

void Endpoint::make_due(Sending& s) {
  if (s.due != 0 || s.waits != 0 || !may_send(s)) return;
  ctx_.set(s.due, std::uint8_t{1});
  push_due(parts_.sides[s.port], {std::max(s.not_before, ctx_.now()), s.key});
}

bool Endpoint::may_send(const Sending& s) const {
  if (s.next >= s.packets) return false;
  if (!acknowledges()) return true;
  return !is_held_back(s) && (!fills_window(s) || !awaits_answer(s));
}

// Whether recovery keeps the next packet.
bool Endpoint::is_held_back(const Sending& s) const {
  if (s.restart != 0 && s.next - s.acked >= s.restart) return true;
  return options().recovery == Recovery::selective_repeat && s.next >= s.sent &&
         s.next - s.acked >= kRepeatWindow;
}

bool Endpoint::fills_window(const Sending& s) const {
  if (!network_.congestion_traits().acknowledged) return false;
  if (options().recovery == Recovery::selective_repeat && s.next < s.sent) return false;
  return s.next - s.acked >= congestion().packets_max(s.congestion);
}

// Whether any of what is under way is going to be acknowledged. Else it was sent when the window
// was larger, and is too little for the receiver to answer by itself: one more packet asks it to.
bool Endpoint::awaits_answer(const Sending& s) const {
  return s.ack_asked > s.acked || s.next - s.acked >= options().ack_every;
}

void Endpoint::pump(std::uint32_t port) {
  pump_control(port);
  pump_messages(port);
  if (network_.trains()) outbox_.flush();
}

void Endpoint::pump_messages(std::uint32_t port) {
  if (frozen_.is_still(port)) return;
  SendSide& side = parts_.sides[port];
  const PortState& line = parts_.ports[port];
  const Time limit = ctx_.now() + network_.figures(line.kind).commit;
  while (!side.due.empty()) {
    const Due first = side.due[0];
    Sending* s = state_.sending.find(first.message);
    const bool moved = s != nullptr && s->port != port;  // to another port, by a failure
    if (s == nullptr || moved || !may_send(*s)) {
      if (s != nullptr && !moved) ctx_.set(s->due, std::uint8_t{0});
      pop_due(side);
      continue;
    }
    if (line.free > limit || first.at > limit) {
      const Time left_out = network_.trains() ? promise_rest(port) : Time{0};
      return set_wake(port, std::max(line.free, first.at), left_out);
    }
    const bool behind_others =
        !side.control.empty() ||
        (network_.devices_forward() && network_.has_queues() &&
         !ports_.buffer(port, s->channel).queue.empty());
    const std::uint32_t bytes = static_cast<std::uint32_t>(network_.full_bytes());
    if (behind_others || !forwarder_.can_commit(port, s->channel, bytes)) return;
    send_next(port, *s, first.at);
  }
}

// A packet of others has gone on the line. They are given to it as they come, so that it may stay
// busy for longer than the endpoint is given it ahead; then one of its own follows each of theirs.
void Endpoint::take_turn(std::uint32_t port) {
  const SendSide& side = parts_.sides[port];
  if (side.due.empty() || network_.has_queues()) return;
  const PortState& line = parts_.ports[port];
  const LinkFigures& figures = network_.figures(line.kind);
  const Due first = side.due[0];
  if (line.free <= ctx_.now() + figures.commit || first.at > line.free) return;
  Sending* s = state_.sending.find(first.message);
  if (s == nullptr || s->port != port || !may_send(*s)) return;
  if (ports_.depth(port) > figures.buffer - ports_.wire(port, network_.full_bytes())) return;
  send_next(port, *s, first.at);
}

void Endpoint::send_next(std::uint32_t port, Sending& s, Time due_at) {
  const std::uint32_t number = s.next;
  const bool again = number < s.sent;
  Packet packet = packet_of(s, number);
  if (state_.ports == 1 && network_.routing_traits().takes_waypoints) {
    static_cast<void>(choose_port(network_, ports_, at(), packet));
  }
  if (number == 0 && !again) {
    ctx_.send({s.to}, network_.lookahead(), kind_of(PacketEvent::header),
              MessageHeader{static_cast<std::uint32_t>(s.key), s.packets, s.body});
  }
  ctx_.set(s.next, number + 1);
  if (again) {
    ctx_.add(state_.repeated, 1u);
    packet.bits |= Packet::kAckNowBit;
    settle_next(s);
  } else if (acknowledges()) {
    ctx_.set(s.sent, number + 1);
  }
  const bool is_last = s.next >= s.packets;
  if (is_last || (acknowledges() && (is_held_back(s) || fills_window(s)))) {
    packet.bits |= Packet::kAckNowBit;
  }
  if (acknowledges() && (packet.bits & Packet::kAckNowBit) != 0 && s.ack_asked <= number) {
    ctx_.set(s.ack_asked, number + 1);
  }
  const Time eligible = std::max(due_at, ctx_.now());
  const Time start = std::max(eligible, parts_.ports[port].free);
  packet.stamp = stamp_of(stamp_time(s.key, start));
  const Time end = network_.trains()
                       ? give_to_train(port, s, packet, eligible)
                       : forwarder_.commit(port, packet, eligible,
                                           delay_at_ends(s.endpoint_delay, {s.to}, start));
  if (network_.skips() && !again) tell_packet(s, number, start);
  Time next_at = end;
  if (network_.congestion_traits().has_state) {
    CongestionState c = s.congestion;
    next_at = congestion().packet_sent(c, line_of(port), {start, end, packet.bytes});
    ctx_.set(s.congestion, c);
  }
  SendSide& side = parts_.sides[port];
  const bool over = number + 1 == s.packets && !again;
  const MessageBody body = s.body;
  const LeftMessage left{
      .connection = over ? connection_of(s) : 0, .key = s.key, .at = end, .follower = s.follower};
  if (may_send(s)) {
    replace_due(side, {next_at, s.key});
  } else {
    pop_due(side);
    ctx_.set(s.due, std::uint8_t{0});
    ctx_.set(s.not_before, next_at);
    if (over && !acknowledges()) state_.sending.erase(ctx_, &s);
  }
  if (!over) return;
  if (options().in_order) start_follower(port, left);
  listener_.left(body, end);
}

// ---- messages in order

// Two that have one key by chance would be one connection.
std::uint64_t Endpoint::connection_of(const Sending& s) const {
  const std::uint64_t connection = std::uint64_t{s.body.connection()} << 32;
  if (s.body.one_by_one()) return core::mix64(connection | s.first_port);
  return core::mix64(connection | s.to) + s.key % network_.queue_pairs();
}

// A new message waits for the one before it on its connection, if that has not left.
void Endpoint::join_connection(Sending& s) {
  pdes::UndoTable<Connection>& open = parts_.connections->open;
  const std::uint64_t key = connection_of(s);
  Connection* connection = open.find(key);
  if (connection == nullptr) {
    open.insert(ctx_, {.key = key, .last = s.key});
    return;
  }
  Sending* before = state_.sending.find(connection->last);
  ctx_.check(before != nullptr, "a connection's last message is not being sent");
  if (before == nullptr) return;
  ctx_.set(before->follower, static_cast<std::uint32_t>(s.key) + 1);
  ctx_.set(connection->last, s.key);
  s.waits = 1;
}

// A message has given its last packet to the line of `port`: the one behind it takes its turn, or
// its connection is over. Where there are trains a connection keeps to its port.
void Endpoint::start_follower(std::uint32_t port, const LeftMessage& left) {
  if (left.follower == 0) {
    pdes::UndoTable<Connection>& open = parts_.connections->open;
    Connection* connection = open.find(left.connection);
    ctx_.check(connection != nullptr && connection->last == left.key,
               "a message was over whose connection is not");
    if (connection != nullptr) open.erase(ctx_, connection);
    return;
  }
  Sending* next = state_.sending.find(left.follower - 1);
  ctx_.check(next != nullptr && next->waits != 0, "a message does not wait that is next");
  if (next == nullptr) return;
  ctx_.set(next->waits, std::uint16_t{0});
  ctx_.set(next->not_before, left.at);
  if (network_.faults() != nullptr) take_another_route(*next);
  make_due(*next);
  tell_start(*next);
  if (next->port != port) set_wake(next->port, left.at);
}

// After a packet was repeated: on to the next hole, or back to what was never sent.
void Endpoint::settle_next(Sending& s) {
  if (options().recovery != Recovery::selective_repeat) return;
  std::uint32_t next = s.next;
  while (next < s.repair_end && contains(s.received, next)) ++next;
  if (next >= s.repair_end) next = s.sent;
  ctx_.set(s.next, next);
}

void Endpoint::pump_control(std::uint32_t port) {
  SendSide& side = parts_.sides[port];
  while (!side.control.empty()) {
    const Packet packet = side.control.front();
    if (frozen_.is_still(port)) {
      side.control.pop_front(ctx_);
      frozen_.jump(port, packet);
      continue;
    }
    if (!forwarder_.can_commit(port, packet.channel, packet.bytes)) {
      const PortState& line = parts_.ports[port];
      const bool line_is_busy = options().flow_control == FlowControl::pfc &&
                                (line.paused >> packet.channel & 1) == 0;
      if (line_is_busy) set_wake(port, std::max(line.free, ctx_.now()));
      return;
    }
    side.control.pop_front(ctx_);
    const core::DeviceId to{packet.destination};
    const Time start = std::max(ctx_.now(), parts_.ports[port].free);
    forwarder_.commit(port, packet, ctx_.now(),
                      delay_at_ends(network_.endpoint_delay({at().value}, to), to, start));
  }
}

// Wakes when half of what was committed has left, and not long before the next packet may start;
// by `left_out` later where wakes until then are left out.
void Endpoint::set_wake(std::uint32_t port, Time may_start, Time left_out) {
  SendSide& side = parts_.sides[port];
  const LinkFigures& figures = network_.figures(parts_.ports[port].kind);
  const Time at = std::max(may_start - figures.commit_half(), ctx_.now() + Time{1});
  if (side.wake_at > ctx_.now() && side.wake_at <= at) return;
  wake_at(port, core::sum_to_end(at, left_out));
}

void Endpoint::wake_at(std::uint32_t port, Time at) {
  ctx_.set(parts_.sides[port].wake_at, at);
  ctx_.send(ctx_.self(), at - ctx_.now(), kind_of(PacketEvent::wake), PortWake{port, 1});
}

// ---- the heap

void Endpoint::push_due(SendSide& side, const Due& due) {
  pdes::heap_push(side.due, ctx_, due, std::less<>{});
}

void Endpoint::replace_due(SendSide& side, const Due& due) {
  pdes::heap_replace_first(side.due, ctx_, due, std::less<>{});
}

void Endpoint::pop_due(SendSide& side) { pdes::heap_erase(side.due, ctx_, 0, std::less<>{}); }

}  // namespace exawarp::model
