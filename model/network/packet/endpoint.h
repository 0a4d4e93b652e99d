// A device's network interfaces at packet fidelity: cuts messages into packets, paces and
// acknowledges them, repairs losses, and puts messages together again, in whatever order their
// packets come. State and functions for a logical process to embed:
//
//   Endpoint endpoint(network, state, ctx, listener);
//   if (Endpoint::handles(event.kind)) return endpoint.handle(event);  // events of its own
//   endpoint.settle();                                                 // before any other
//   endpoint.send({.to = peer, .bytes = n, .body = ...});
//
// Messages of a device share its lines packet by packet, in turn.
#pragma once

#include <cstdint>

#include "model/network/packet/endpoint_state.h"
#include "model/network/packet/forwarder.h"
#include "model/network/packet/train_outbox.h"

namespace exawarp::model {

struct OutgoingMessage {
  core::DeviceId to;       // another device
  std::int64_t bytes = 0;  // payload; 0 travels as one packet of headers
  MessageBody body;        // delivered with it
  core::Time overhead{};   // of its software, on top of the network's endpoint latency
};

// What an endpoint tells the logical process it is part of, during handle() or send().
class EndpointListener {
 public:
  EndpointListener() = default;
  EndpointListener(const EndpointListener&) = delete;
  EndpointListener& operator=(const EndpointListener&) = delete;
  virtual ~EndpointListener() = default;
  // All of a message has come. `bytes` is what its packets took on the wire.
  virtual void delivered(core::DeviceId from, const MessageBody& body, std::uint64_t bytes) = 0;
  // The last packet of a message was given to the line; its tail leaves at `at` (> now). Must not
  // call send(): what follows from it belongs to that time, hence to an event of its own.
  virtual void left(const MessageBody& body, core::Time at) = 0;
};

// One endpoint during one event.
class Endpoint {
 public:
  Endpoint(const PacketNetwork& network, EndpointState& state, pdes::Context& ctx,
           EndpointListener& listener);

  // Start state of device `at`.
  static void initialise(const PacketNetwork& network, VertexId at, EndpointState& state);
  // Bytes of state of the device with most ports.
  [[nodiscard]] static std::uint32_t state_bytes(const PacketNetwork& network);
  static void describe(pdes::StateArchive& archive, EndpointState& state);

  // Asks the processor for an endpoint's first lines, of which nothing need be there. Inlined, as
  // UndoTable::prefetch() is.
  [[gnu::always_inline]] static void prefetch_head(const EndpointState& state) {
    __builtin_prefetch(&state, 1);
    __builtin_prefetch(&state + 1, 1);  // its first port
  }
  // The same for what an event of the endpoint at `state` will look up.
  [[gnu::always_inline]] static void prefetch_for(const pdes::Event& event,
                                                  const EndpointState& state) {
    const auto kind = static_cast<PacketEvent>(event.kind);
    if (kind == PacketEvent::packet) {
      const Packet packet = event.as<Packet>();
      if (packet.destination != state.vertex || packet.type() != PacketType::data) return;
      state.receiving.prefetch(Receiving::key_of(packet.source, packet.message));
    } else if (kind == PacketEvent::header) {
      const auto header = event.as<MessageHeader>();
      state.receiving.prefetch(Receiving::key_of(event.source.value, header.message));
      return;
    }
    __builtin_prefetch(EndpointParts<const EndpointState>(state).sides, 1);
  }

  [[nodiscard]] static bool handles(pdes::EventKind kind) { return kind >= kFirstPacketEvent; }
  void handle(const pdes::Event& event);
  // Gives lines what they are due until now. Calls the listener's left().
  void settle();
  // Requires handle() or settle() before, in the same event; or an event at time 0.
  void send(const OutgoingMessage& message);

 private:
  [[nodiscard]] VertexId at() const { return {state_.vertex}; }
  [[nodiscard]] const PacketOptions& options() const { return network_.options(); }
  [[nodiscard]] bool acknowledges() const {
    return options().recovery != Recovery::none || network_.congestion_traits().acknowledged;
  }
  [[nodiscard]] const CongestionControl& congestion() const {
    return network_.congestion_control();
  }
  [[nodiscard]] CongestionLine line_of(std::uint32_t port) const {
    return {network_.figures(parts_.ports[port].kind).bytes_per_s, network_.full_bytes()};
  }
  // What both ends' interfaces add to a packet that starts at `start`, jitter included.
  [[nodiscard]] core::Time delay_at_ends(core::Time usual, core::DeviceId to,
                                         core::Time start) const {
    const LatencyJitter& jitter = network_.latency_jitter();
    return jitter.off() ? usual : usual + jitter.extra(at().value, to.value, start);
  }

  // endpoint.cc: sending
  struct Route {
    std::uint32_t port, waypoint, channel;
  };
  [[nodiscard]] Route route_of(const Sending& s);
  void pump(std::uint32_t port);
  void pump_messages(std::uint32_t port);
  void pump_control(std::uint32_t port);
  void take_turn(std::uint32_t port);
  bool may_send(const Sending& s) const;
  bool is_held_back(const Sending& s) const;
  bool fills_window(const Sending& s) const;
  bool awaits_answer(const Sending& s) const;
  void send_next(std::uint32_t port, Sending& s, core::Time due_at);
  [[nodiscard]] std::uint64_t connection_of(const Sending& s) const;
  void join_connection(Sending& s);
  struct LeftMessage {
    std::uint64_t connection;
    std::uint64_t key;
    core::Time at;  // when its tail will have left
    std::uint32_t follower;  // Sending::follower
  };
  void start_follower(std::uint32_t port, const LeftMessage& left);
  [[nodiscard]] Packet packet_of(const Sending& s, std::uint32_t number) const;
  void make_due(Sending& s);
  void settle_next(Sending& s);
  void set_wake(std::uint32_t port, core::Time may_start, core::Time left_out = core::Time{0});
  void wake_at(std::uint32_t port, core::Time at);
  void push_due(SendSide& side, const Due& due);
  void replace_due(SendSide& side, const Due& due);
  void pop_due(SendSide& side);
  void on_port_event(const pdes::Event& event);

  // endpoint_trains.cc: sending, where the network has trains
  struct Rotation;
  struct Rounds;
  core::Time give_to_train(std::uint32_t port, const Sending& s, Packet packet,
                           core::Time eligible);
  [[nodiscard]] Rotation rotation_of(std::uint32_t port) const;
  core::Time promise_rest(std::uint32_t port);
  void part_trains(std::uint32_t port);
  [[nodiscard]] Rounds rounds_of(std::uint32_t port, const Rotation& rotation) const;
  void catch_up(std::uint32_t port);
  void turn(std::uint32_t port, const Rotation& rotation, std::uint32_t packets);

  // endpoint_steady.cc: where the network skips
  void tell_start(const Sending& s);
  void tell_end(const Packet& last);
  void tell_packet(const Sending& s, std::uint32_t number, core::Time start);
  [[nodiscard]] core::Time stamp_time(std::uint64_t message, core::Time time);
  void forget_run(std::uint64_t message);
  void count_notification(std::uint64_t message);
  bool handle_still(const pdes::Event& event);
  bool keep_for_message(std::uint32_t message, const pdes::Event& event);
  void go_on(std::uint32_t port, core::Time by);
  void on_skip(const Skip& skip);
  void on_skipped(core::LpId sender, const Skip& skip);

  // endpoint_receive.cc: receiving, acknowledging, repairing
  void on_packet(const Packet& packet);
  void on_data(const Packet& packet);
  bool is_to_answer(Receiving& r, const Packet& packet);
  void take_last(Receiving& r, const Packet& packet);
  void deliver(Receiving& r, const Packet& last, std::uint64_t bytes);
  bool take_in(Receiving& r, const Packet& packet);
  void notify(Receiving& r, const Packet& packet);
  void reply(const Packet& to, PacketType type, std::uint32_t number);
  void on_reply(const Packet& packet);
  void on_selective_ack(Sending& s, const Packet& packet);
  void on_nack(Sending& s, const Packet& packet);
  void on_timeout(const Timeout& timeout);
  void set_timeout(const Sending& s);
  [[nodiscard]] bool is_cut_off(const Sending& s) const;
  void take_another_route(Sending& s);
  void advance(Sending& s, std::uint32_t acked, const Packet& packet);

  const PacketNetwork& network_;
  EndpointState& state_;
  EndpointParts<EndpointState> parts_;
  pdes::Context& ctx_;
  EndpointListener& listener_;
  Ports ports_;
  Forwarder forwarder_;
  FrozenPorts frozen_;
  TrainOutbox outbox_;
};

}  // namespace exawarp::model
