// A device's network interfaces at packet fidelity: messages go through the device's endpoint,
// which cuts them into packets. Collectives whose data the network combines stay with the
// interfaces' clocks, as at message fidelity; so does what the port's Reach leaves to them.
#pragma once

#include <algorithm>
#include <bit>

#include "model/device/message_port.h"

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

template <class Reach>
class PacketPort : public MessagePort<typename Reach::Links> {
  using Clocks = MessagePort<typename Reach::Links>;

 public:
  PacketPort(DeviceFrame& frame, Endpoint& endpoint) : Clocks(frame), endpoint_(endpoint) {}

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
    post(out.to, out.wire.ps,
         {.time_ps = frame_.now().ps,
          .first = out.connection,
          .second = stream,
          .kind = Carried::message});
    return {};
  }
  void send_request(core::DeviceId to, std::uint32_t tag, std::uint32_t stream) {
    if (has_clock(interface_to(to))) return Clocks::send_request(to, tag, stream);
    post(to, control_bytes(),
         {.time_ps = frame_.now().ps, .first = tag, .second = stream, .kind = Carried::request});
  }
  void send_ready(core::DeviceId to, std::uint32_t stream) {
    if (has_clock(interface_to(to))) return Clocks::send_ready(to, stream);
    post(to, control_bytes(), {.second = stream, .kind = Carried::ready});
  }
  void send_background(const Outgoing& out, const BackgroundMessage& message) {
    if (has_clock(interface_of(out.tier))) return Clocks::send_background(out, message);
    const auto bytes = static_cast<std::int64_t>(message.bytes);
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
    endpoint_.send(message);
    return true;
  }

 private:
  using Clocks::frame_;
  using Clocks::network;

  [[nodiscard]] Interface interface_to(core::DeviceId peer) const {
    return interface_of(network().tier_between(frame_.self(), peer));
  }
  [[nodiscard]] std::int64_t control_bytes() const {
    return frame_.model.packets->network.options().control_bytes;
  }
  void post(core::DeviceId to, std::int64_t bytes, const CarriedBody& body) {
    endpoint_.send({.to = to, .bytes = bytes, .body = std::bit_cast<MessageBody>(body)});
  }
  [[nodiscard]] ChannelPackets& packets_of(const ChannelState& channel) const {
    return frame_.parts.channel_packets[&channel - frame_.parts.channels];
  }
  void count_leaving(ChannelPackets& packets) {
    frame_.ctx.set(packets.leaving, packets.leaving + 1);
  }
  // When all that the channel has handed over has left; Time::max(): the endpoint will say.
  [[nodiscard]] static core::Time left_at(const ChannelPackets& packets) {
    return packets.leaving != 0 ? core::Time::max() : packets.left_at;
  }

  Endpoint& endpoint_;
};

}  // namespace exawarp::model
