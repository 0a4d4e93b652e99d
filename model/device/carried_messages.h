// What a device does with messages that the network takes over and gives back (packet_port.h).
//
// Messages of one sender may overtake each other, where they take several ways, or packets of them
// are lost. Rings count chunks in order, so a chunk that has overtaken others waits for them, as it
// would in a connection that delivers in order; whatever runs by steps says to which step it
// belongs, and a message matches its receive by its tag, in order of arrival.
#pragma once

#include <algorithm>

#include "model/device/device_run.h"

namespace exawarp::model {

// Those of one device during one event.
template <class Port, class Source = MappedProgram>
class CarriedMessages {
 public:
  CarriedMessages(DeviceFrame& frame, Device<Source, Port>& device)
      : frame_(frame), device_(device) {}

  // One has come.
  void take(core::DeviceId from, const CarriedBody& body);
  // One has left, or will have, at `at`.
  void left(const CarriedBody& body, core::Time at);

 private:
  void take_collective(const CarriedBody& body);
  void deliver_chunk(std::uint8_t local, const Chunk& chunk);
  void on_message_left(std::uint32_t stream, core::Time at);
  void on_collective_left(std::uint16_t channel, core::Time at);

  DeviceFrame& frame_;
  Device<Source, Port>& device_;
};

template <class Port, class Source>
void CarriedMessages<Port, Source>::take(core::DeviceId from, const CarriedBody& body) {
  switch (body.kind) {
    case Carried::chunk:
    case Carried::step:
    case Carried::step_one_by_one:
      return take_collective(body);
    case Carried::message:
      return device_.take_message({0, body.time_ps, from.value, body.first, 0, body.lane});
    case Carried::request:
      return device_.messages().take_request(
          {0, body.time_ps, from.value, body.first, 0, body.second});
    case Carried::ready:
      return device_.messages().take_ready({body.second, 0});
    case Carried::background:
      break;
  }
  frame_.ctx.check(false, "a device received a message of unknown kind");
}

template <class Port, class Source>
void CarriedMessages<Port, Source>::take_collective(const CarriedBody& body) {
  const std::uint8_t local = device_.channel_numbered(body.channel);
  const bool steps = is_step(body.kind);
  const bool has_part = local != kNoChannel && device_.program().channels[local].stepped == steps;
  frame_.ctx.check(has_part, "a device received a message of a collective it has no part in");
  if (!has_part) return;
  const Chunk chunk{0, body.time_ps, body.first, body.second, body.channel, 0, body.lane};
  return steps ? device_.take_step(local, chunk) : deliver_chunk(local, chunk);
}

// Takes the chunk, and those that had overtaken it; or keeps it until those before have come.
template <class Port, class Source>
void CarriedMessages<Port, Source>::deliver_chunk(std::uint8_t local, const Chunk& chunk) {
  const ChannelState& channel = frame_.parts.channels[local];
  auto& overtaken = frame_.parts.packets->overtaken;
  pdes::Context& ctx = frame_.ctx;
  if (chunk.ordinal != channel.ordinal || chunk.step != channel.arrived) {
    const bool is_ahead = chunk.ordinal > channel.ordinal ||
                          (chunk.ordinal == channel.ordinal && chunk.step > channel.arrived);
    ctx.check(is_ahead, "a chunk of a collective arrived twice");
    if (!is_ahead) return;
    return overtaken.push_back(ctx,
                               {chunk.entry_ps, chunk.ordinal, chunk.step, 1, chunk.channel, 0});
  }
  device_.take_chunk(local, chunk);
  for (std::uint32_t i = 0; i < overtaken.size();) {
    const EarlySteps next = overtaken[i];
    if (next.channel != chunk.channel || next.ordinal != channel.ordinal ||
        next.phase != channel.arrived) {
      ++i;
      continue;
    }
    overtaken.erase(ctx, i);
    device_.take_chunk(local, {0, next.entry_ps, next.ordinal, next.phase, next.channel, 0, 0});
    i = 0;
  }
}

template <class Port, class Source>
void CarriedMessages<Port, Source>::left(const CarriedBody& body, core::Time at) {
  switch (body.kind) {
    case Carried::request:
    case Carried::background:
    case Carried::ready:
      return;
    case Carried::message:
      return on_message_left(body.second, at);
    case Carried::chunk:
    case Carried::step:
    case Carried::step_one_by_one:
      return on_collective_left(body.channel, at);
  }
}

template <class Port, class Source>
void CarriedMessages<Port, Source>::on_message_left(std::uint32_t stream, core::Time at) {
  auto& streams = device_.streams();
  const bool expected =
      stream < device_.program().streams() && streams.head(stream).kind == TaskKind::send;
  frame_.ctx.check(expected, "a message left that its device was not sending");
  if (expected) streams.complete_in(at - frame_.now(), stream);
}

template <class Port, class Source>
void CarriedMessages<Port, Source>::on_collective_left(std::uint16_t number, core::Time at) {
  const std::uint8_t local = device_.channel_numbered(number);
  const bool expected = local != kNoChannel && frame_.parts.channel_packets[local].leaving != 0;
  frame_.ctx.check(expected, "a message of a collective left that its device was not sending");
  if (!expected) return;
  ChannelPackets& packets = frame_.parts.channel_packets[local];
  frame_.ctx.set(packets.leaving, packets.leaving - 1);
  if (packets.left_at < at) frame_.ctx.set(packets.left_at, at);
  const ChannelState& channel = frame_.parts.channels[local];
  if (packets.leaving != 0 || channel.steps != 0) return;
  // Everything has been received, too.
  const Channel& collective = device_.program().channels[local];
  core::Time end = packets.left_at;
  if (collective.stepped) end = std::max(end, channel.wire);
  device_.streams().complete_in(end - frame_.now(), collective.stream);
}

}  // namespace exawarp::model
