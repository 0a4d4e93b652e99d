// A device's network interfaces where the network takes messages over: at packet fidelity they go
// through the device's endpoint, which cuts them into packets, at flow fidelity to the fabric's
// region (Carrier). Collectives whose data the network combines stay with the interfaces' clocks,
// as at message fidelity; so does what the port's Reach leaves to them.
#pragma once

#include <algorithm>
#include <bit>
#include <type_traits>

#include "model/device/message_port.h"
#include "model/network/flow/flow_carrier.h"
#include "model/network/message_trace.h"

namespace exawarp::model {

// Messages inside a node stay with the clocks, and so meet there what is wrong with Links.
template <class NodeLinks>
struct AcrossNodes {
  using Links = NodeLinks;
  [[nodiscard]] static constexpr bool leaves_to_clock(Interface interface) {
    return interface == Interface::node;
  }
};
// All messages go packet by packet.
struct Everywhere {
  using Links = WellLinks;
  [[nodiscard]] static constexpr bool leaves_to_clock(Interface) { return false; }
};

template <class Reach, class Carrier = Endpoint>
class PacketPort : public MessagePort<typename Reach::Links> {
  using Clocks = MessagePort<typename Reach::Links>;
  // An endpoint also carries the notices of long messages, as packets of their own.
  static constexpr bool kCarriesNotices = std::is_same_v<Carrier, Endpoint>;

 public:
  PacketPort(DeviceFrame& frame, Carrier& carrier) : Clocks(frame), carrier_(carrier) {}

  [[nodiscard]] static constexpr bool has_clock(Interface interface) {
    return Reach::leaves_to_clock(interface);
  }

  [[nodiscard]] core::Time wire_of(std::int64_t bytes, Interface interface) const {
    return has_clock(interface) ? Clocks::wire_of(bytes, interface) : core::Time{bytes};
  }

  core::Time send_chunk(const Outgoing& out, const ChannelState& channel, const Chunk& chunk) {
    if (has_clock(interface_of(out.tier))) return Clocks::send_chunk(out, channel, chunk);
    count_leaving(packets_of(channel));
    post(out.to, out.wire.ps,
         {.time_ps = chunk.entry_ps,
          .first = chunk.ordinal,
          .second = chunk.step,
          .kind = Carried::chunk,
          .channel = chunk.channel});
    return kSaidLater;
  }
  std::optional<core::Time> send_message(const Outgoing& out, std::uint32_t stream) {
    if (has_clock(interface_of(out.tier))) return Clocks::send_message(out, stream);
    if constexpr (!kCarriesNotices) {  // packets say themselves when they are sent
      if (frame_.model.traces_messages) [[unlikely]] {
        MessageTrace::sent(frame_.ctx, out.to, out.connection,
                           static_cast<std::uint64_t>(out.wire.ps));
      }
    }
    post(out.to, out.wire.ps,
         {.time_ps = frame_.now().ps,
          .first = out.connection,
          .second = stream,
          .kind = Carried::message,
          .channel = static_cast<std::uint16_t>(stream),
          .lane = out.tokens});
    return {};
  }
  void send_request(core::DeviceId to, std::uint32_t tag, std::uint32_t stream) {
    if (!carries_notices_to(to)) return Clocks::send_request(to, tag, stream);
    post(to, control_bytes(),
         {.time_ps = frame_.now().ps, .first = tag, .second = stream, .kind = Carried::request});
  }
  void send_ready(core::DeviceId to, std::uint32_t stream) {
    if (!carries_notices_to(to)) return Clocks::send_ready(to, stream);
    post(to, control_bytes(), {.second = stream, .kind = Carried::ready});
  }
  void send_background(const Outgoing& out, const BackgroundMessage& message) {
    if (has_clock(interface_of(out.tier))) return Clocks::send_background(out, message);
    const auto bytes = static_cast<std::int64_t>(message.bytes);
    if constexpr (std::is_same_v<Carrier, Endpoint>) carrier_.settle();
    post(out.to, bytes, {.time_ps = bytes, .kind = Carried::background});
  }

  [[nodiscard]] core::Time ring_left_at(const ChannelState& channel, Tier tier) const {
    if (has_clock(interface_of(tier))) return channel.wire;
    return left_at(packets_of(channel));
  }
  [[nodiscard]] core::Time steps_end(const ProgramTable& program, const Task& task,
                                     core::DeviceId rank) const {
    return std::max(Clocks::steps_end(program, task, rank),
                    left_at(frame_.parts.channel_packets[task.channel]));
  }
  bool post_step(std::uint8_t channel, Interface interface, const OutgoingMessage& message) {
    if (has_clock(interface)) return false;
    count_leaving(frame_.parts.channel_packets[channel]);
    carrier_.send(message);
    return true;
  }

 private:
  using Clocks::frame_;
  using Clocks::network;

  [[nodiscard]] bool carries_notices_to(core::DeviceId peer) const {
    return kCarriesNotices &&
           !has_clock(interface_of(network().tier_between(frame_.self(), peer)));
  }
  [[nodiscard]] std::int64_t control_bytes() const {
    return frame_.model.packets->network.options().control_bytes;
  }
  void post(core::DeviceId to, std::int64_t bytes, const CarriedBody& body) {
    carrier_.send({.to = to, .bytes = bytes, .body = std::bit_cast<MessageBody>(body)});
  }
  [[nodiscard]] ChannelPackets& packets_of(const ChannelState& channel) const {
    return frame_.parts.channel_packets[&channel - frame_.parts.channels];
  }
  void count_leaving(ChannelPackets& packets) {
    frame_.ctx.set(packets.leaving, packets.leaving + 1);
  }
  // When all that the channel has handed over has left; Time::max(): the carrier will say.
  [[nodiscard]] static core::Time left_at(const ChannelPackets& packets) {
    return packets.leaving != 0 ? core::Time::max() : packets.left_at;
  }

  Carrier& carrier_;
};

}  // namespace exawarp::model
