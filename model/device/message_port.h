// A device's network interfaces at message fidelity: each has a clock for either side, a message
// takes its time on both, and travels in between.
//
// A port is what the parts of a device send by and receive through. There is one type for each
// network (analytical_port.h, packet_port.h are the others); a device's parts are compiled with
// each, so that none asks at an event which it has. A port that differs from this one hides the
// functions that differ.
//
// Links is what may be wrong on the way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "model/collective/choice.h"
#include "model/device/device_frame.h"
#include "model/device/task_source.h"
#include "model/network/packet/endpoint.h"

namespace exawarp::model {

// All links are well.
class WellLinks {
 public:
  explicit WellLinks(const DeviceModel&) {}
  [[nodiscard]] static core::Time usual_latency(const Network& network, Tier tier,
                                                core::Time wire) {
    return network.travel(tier, wire);
  }
  [[nodiscard]] static std::optional<Travel> travel(core::DeviceId, core::DeviceId,
                                                    const UsualTransfer& usual) {
    return Travel{usual.ready, usual.wire, usual.latency};
  }
};

// Links are slow or down, or their latency varies.
class FaultyLinks {
 public:
  explicit FaultyLinks(const DeviceModel& model) : faults_(*model.message_faults) {}
  // What a slow link of the way adds is found on the way.
  [[nodiscard]] static core::Time usual_latency(const Network& network, Tier tier, core::Time) {
    return network.latency(tier);
  }
  // Nothing: there is no way, and never will be. A message to itself, of a collective that the
  // network carries out, passes no link.
  [[nodiscard]] std::optional<Travel> travel(core::DeviceId from, core::DeviceId to,
                                             const UsualTransfer& usual) const {
    if (from == to) return Travel{usual.ready, usual.wire, usual.latency};
    return faults_.travel(from, to, usual);
  }

 private:
  const MessageFaults& faults_;
};

// In place of when a chunk has left: the network will say so by an event.
constexpr core::Time kSaidLater{-1};

// What is sent, and how far it goes.
struct Outgoing {
  core::DeviceId to;
  Tier tier;
  core::Time wire;           // as Task::wire has it
  std::uint32_t connection;  // see Network::ends_of()
  std::uint32_t tokens = 0;  // of keys and values that go by layer, Message::stream
};

template <class Links>
class MessagePort {
 public:
  explicit MessagePort(DeviceFrame& frame) : frame_(frame), links_(frame.model) {}

  // What Outgoing::wire is for so many bytes.
  [[nodiscard]] core::Time wire_of(std::int64_t bytes, Interface interface) const {
    return network().wire_time(bytes, interface);
  }

  // How far a device is that this one sends to.
  [[nodiscard]] Tier tier_to(core::DeviceId peer) const {
    return network().tier_between(frame_.self(), peer);
  }

  // Whether messages by it take their time there. Others go packet by packet.
  [[nodiscard]] static constexpr bool has_clock(Interface) { return true; }
  // Whether what is sent at one time may share interfaces without clocks (shared_interfaces.h).
  static constexpr bool kMayShare = false;

  // ---- sending. Each returns when the message has left. Time::max(): it never does, as far as is
  // known. Nothing: the network will say so by an event, which ends the task.

  // A chunk is sent for each event of a ring, so that a word, kSaidLater, stands for nothing here:
  // an optional would be put together in memory and read back at once.
  [[gnu::always_inline]] core::Time send_chunk(const Outgoing& out, const ChannelState&,
                                               const Chunk& chunk) {
    const Leaving leaving = leave(out, LineSender::channel(chunk.channel));
    if (leaving.sent == core::Time::max()) return leaving.sent;
    send_at(out.to, leaving, DeviceEvent::chunk_arrives,
            Chunk{leaving.wire.ps, chunk.entry_ps, chunk.ordinal, chunk.step, chunk.channel,
                  static_cast<std::uint16_t>(leaving.in), 0});
    return leaving.sent;
  }
  std::optional<core::Time> send_message(const Outgoing& out, std::uint32_t stream) {
    return send_tagged(out, leave(out, LineSender::stream(stream)));
  }
  // Notices of a long message: they take a message's latency and no time on an interface.
  void send_request(core::DeviceId to, std::uint32_t tag, std::uint32_t stream) {
    notify(to, tier_to(to), DeviceEvent::request_arrives,
           Message{0, frame_.now().ps, frame_.self().value, tag, 0, stream});
  }
  void send_ready(core::DeviceId to, std::uint32_t stream) {
    notify(to, tier_to(to), DeviceEvent::ready_arrives, Ready{stream, 0});
  }
  // Traffic of no job, which finds all links well. `message` lacks `wire_ps` and `interface`.
  void send_background(const Outgoing& out, BackgroundMessage message) {
    const Ends ends = ends_of(out);
    const core::Time wire =
        wire_of(static_cast<std::int64_t>(message.bytes), interface_of(out.tier));
    SendSharing line = sharing(ends.out);
    const core::Time sent = line.leaves_at(LineSender::background(), wire);
    line.take(LineSender::background(), wire);
    message.wire_ps = wire.ps;
    message.interface = static_cast<std::uint64_t>(ends.in);
    frame_.ctx.send(core::LpId{out.to.value}, sent - frame_.now() + network().latency(out.tier),
                    kind_of(DeviceEvent::background_arrives), message);
  }

  // ---- receiving

  // Whether what arrives now has to wait for the interface. If so, it comes again, as `received`.
  template <class Payload>
  [[gnu::always_inline]] bool holds_back(Interface interface, DeviceEvent received,
                                         const Payload& payload) {
    core::Time& clock = frame_.parts.rx_free(interface);
    ReceiveLine& line = frame_.parts.line(interface).receives;
    const Reception reception = received_at(frame_.now(), clock, core::Time{payload.wire_ps}, line,
                                            network().line_memory());
    frame_.ctx.set(clock, reception.end);
    if (reception.line.busy != line.busy) frame_.ctx.set(line.busy, reception.line.busy);
    if (reception.line.from != line.from) frame_.ctx.set(line.from, reception.line.from);
    if (reception.line.worked != line.worked) frame_.ctx.set(line.worked, reception.line.worked);
    if (reception.end <= frame_.now()) return false;
    frame_.ctx.send(frame_.ctx.self(), reception.end - frame_.now(), kind_of(received), payload);
    return true;
  }

  // ---- collectives

  // When the last chunk has left, all of which were handed over.
  [[nodiscard]] core::Time ring_left_at(const ChannelState& channel, Tier) const {
    return channel.wire;
  }
  // By steps: what is carried out where `c` is to be simulated, and after what overhead.
  static void carry_out(Collective&) {}
  // The members among which: those of the channel's communicator that this device is in.
  [[nodiscard]] static Membership membership(const ProgramTable& program, std::uint8_t channel,
                                             core::DeviceId rank) {
    return program.membership(program.channels[channel], rank);
  }
  [[nodiscard]] static core::DeviceId member(const ProgramTable& program, std::uint8_t channel,
                                             core::DeviceId rank, std::uint32_t position) {
    return program.member(program.channels[channel], rank, position);
  }
  // How far it is, and the LP that it is.
  [[nodiscard]] Tier tier_to_member(core::DeviceId device) const { return tier_to(device); }
  [[nodiscard]] static core::LpId lp_of(core::DeviceId device) { return {device.value}; }
  [[nodiscard]] static core::Time start_overhead(const Choice& choice) { return choice.start; }
  // When a task is over here, all of whose messages have come.
  [[nodiscard]] core::Time steps_end(const ProgramTable&, const Task& task, core::DeviceId) const {
    return std::max(frame_.now(), frame_.parts.channels[task.channel].wire);
  }
  // Takes the message of a step, unless it goes by the interfaces' clocks.
  static bool post_step(std::uint8_t, Interface, const OutgoingMessage&) { return false; }
  [[nodiscard]] core::Time step_latency(Tier tier, core::Time wire, core::Time software) const {
    return network().travel(tier, wire) + software;
  }
  // What leaves by an interface, and how it goes on; nothing: there is no way. `usual.ready` is
  // when it could leave, for all that was sent before.
  [[nodiscard]] [[gnu::always_inline]] std::optional<Travel> leave_by(Interface out,
                                                                      LineSender sender,
                                                                      core::DeviceId to,
                                                                      UsualTransfer usual) {
    SendSharing line = sharing(out);
    const core::Time left = line.leaves_at(sender, usual.wire);
    usual.ready = left - usual.wire;
    const std::optional<Travel> way = travel(to, usual);
    // What keeps a link from taking it keeps the line waiting.
    if (way) line.take(sender, usual.wire + (core::sum_to_end(way->start, way->wire) - left));
    return way;
  }
  [[nodiscard]] std::optional<Travel> travel(core::DeviceId to, const UsualTransfer& usual) const {
    return links_.travel(frame_.self(), to, usual);
  }

 protected:
  struct Leaving {
    core::Time sent, wire, latency;
    Interface in;  // the receiver's
  };

  [[nodiscard]] const Network& network() const { return frame_.model.network; }
  [[nodiscard]] Ends ends_of(const Outgoing& out) const {
    return network().ends_of(interface_of(out.tier), frame_.self(), out.to, out.connection);
  }
  [[nodiscard]] SendSharing sharing(Interface out) {
    return {frame_.ctx, frame_.parts.tx_free(out), frame_.parts.line(out).sends};
  }
  [[gnu::always_inline]] Leaving leave(const Outgoing& out, LineSender sender) {
    const Ends ends = ends_of(out);
    const std::optional<Travel> way =
        leave_by(ends.out, sender, out.to,
                 {{}, out.wire, Links::usual_latency(network(), out.tier, out.wire)});
    if (!way) return {core::Time::max(), out.wire, {}, ends.in};
    return {core::sum_to_end(way->start, way->wire), way->wire, way->latency, ends.in};
  }
  core::Time send_tagged(const Outgoing& out, const Leaving& leaving) {
    if (leaving.sent == core::Time::max()) return leaving.sent;
    send_at(out.to, leaving, DeviceEvent::message_arrives,
            Message{leaving.wire.ps, (leaving.sent - leaving.wire).ps, frame_.self().value,
                    out.connection, static_cast<std::uint32_t>(leaving.in), out.tokens});
    return leaving.sent;
  }
  template <class Payload>
  void send_at(core::DeviceId to, const Leaving& leaving, DeviceEvent kind,
               const Payload& payload) {
    frame_.ctx.send(core::LpId{to.value}, leaving.sent - frame_.now() + leaving.latency,
                    kind_of(kind), payload);
  }
  template <class Payload>
  void notify(core::DeviceId to, Tier tier, DeviceEvent kind, const Payload& notice) {
    const auto way = travel(to, {frame_.now(), core::Time{0}, network().latency(tier)});
    if (!way) return;
    frame_.ctx.send(core::LpId{to.value}, way->start - frame_.now() + way->latency, kind_of(kind),
                    notice);
  }

  DeviceFrame& frame_;
  Links links_;
};

}  // namespace exawarp::model
