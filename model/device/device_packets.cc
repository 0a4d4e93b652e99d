// Devices at packet fidelity: messages that leave a node go through the device's endpoint, which
// cuts them into packets, and come back as calls: delivered() when all of a message is here,
// left() when its last packet has been given to the line.
//
// What happens inside a node stays as it is at message fidelity, unless the study asks for packets
// there as well. Collectives whose data the network combines stay with the interfaces' clocks.
//
// Messages of one sender may overtake each other here, where packets take several ways or are
// lost. Rings count chunks in order, so a chunk that has overtaken others waits for them, as it
// would in a connection that delivers in order; whatever runs by steps says to which step it
// belongs, and a message matches its receive by its tag, in order of arrival.
//
// left() names a time to come, so it sends nothing: an event at that time ends the node.
#include <algorithm>
#include <bit>

#include "model/device/background_traffic.h"
#include "model/device/device_kinds.h"
#include "model/device/device_run.h"
#include "model/device/packet_port.h"

namespace exawarp::model {
namespace {

using core::DeviceId;
using core::Time;
using pdes::Context;

template <class Reach, class Source = MappedProgram>
class PacketRun : public EndpointListener {
 public:
  PacketRun(const DeviceModel& model, DeviceState& state, Context& ctx)
      : frame_(model, state, ctx),
        endpoint_(model.packets->network, *frame_.parts.endpoint, ctx, *this),
        port_(frame_, endpoint_),
        device_(frame_, source_of<Source>(frame_), port_) {}

  void start(Time begin) { device_.start(begin); }
  void handle(const pdes::Event& event) {
    if (Endpoint::handles(event.kind)) return endpoint_.handle(event);
    device_.handle(event);
  }
  [[nodiscard]] PacketPort<Reach>& port() { return port_; }

  void delivered(DeviceId from, const MessageBody& body, std::uint64_t) override {
    take(from, std::bit_cast<CarriedBody>(body));
  }
  void left(const MessageBody& body, Time at) override {
    on_left(std::bit_cast<CarriedBody>(body), at);
  }

 protected:
  void take(DeviceId from, const CarriedBody& body);
  [[nodiscard]] DeviceFrame& frame() { return frame_; }

 private:
  void take_collective(const CarriedBody& body);
  void deliver_chunk(std::uint8_t local, const Chunk& chunk);
  void on_left(const CarriedBody& body, Time at);
  void on_message_left(std::uint32_t stream, Time at);
  void on_collective_left(std::uint16_t channel, Time at);

  DeviceFrame frame_;
  Endpoint endpoint_;
  PacketPort<Reach> port_;
  Device<Source, PacketPort<Reach>> device_;
};

template <class Reach, class Source>
void PacketRun<Reach, Source>::take(DeviceId from, const CarriedBody& body) {
  switch (body.kind) {
    case Carried::chunk:
    case Carried::step:
      return take_collective(body);
    case Carried::message:
      return device_.take_message({0, body.time_ps, from.value, body.first, 0, 0});
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

template <class Reach, class Source>
void PacketRun<Reach, Source>::take_collective(const CarriedBody& body) {
  const std::uint8_t local = device_.channel_numbered(body.channel);
  const bool is_step = body.kind == Carried::step;
  const bool has_part = local != kNoChannel && device_.program().channels[local].stepped == is_step;
  frame_.ctx.check(has_part, "a device received a message of a collective it has no part in");
  if (!has_part) return;
  const Chunk chunk{0, body.time_ps, body.first, body.second, body.channel, 0, body.lane};
  return is_step ? device_.take_step(local, chunk) : deliver_chunk(local, chunk);
}

// Takes the chunk, and those that had overtaken it; or keeps it until those before have come.
template <class Reach, class Source>
void PacketRun<Reach, Source>::deliver_chunk(std::uint8_t local, const Chunk& chunk) {
  const ChannelState& channel = frame_.parts.channels[local];
  auto& overtaken = frame_.parts.packets->overtaken;
  Context& ctx = frame_.ctx;
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

template <class Reach, class Source>
void PacketRun<Reach, Source>::on_left(const CarriedBody& body, Time at) {
  switch (body.kind) {
    case Carried::request:
    case Carried::background:
    case Carried::ready:
      return;
    case Carried::message:
      return on_message_left(body.second, at);
    case Carried::chunk:
    case Carried::step:
      return on_collective_left(body.channel, at);
  }
}

template <class Reach, class Source>
void PacketRun<Reach, Source>::on_message_left(std::uint32_t stream, Time at) {
  auto& streams = device_.streams();
  const bool expected =
      stream < device_.program().streams() && streams.head(stream).kind == TaskKind::send;
  frame_.ctx.check(expected, "a message left that its device was not sending");
  if (expected) streams.complete_in(at - frame_.now(), stream);
}

template <class Reach, class Source>
void PacketRun<Reach, Source>::on_collective_left(std::uint16_t number, Time at) {
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
  Time end = packets.left_at;
  if (collective.stepped) end = std::max(end, channel.wire);
  device_.streams().complete_in(end - frame_.now(), collective.stream);
}

// The same with messages of no job among those that come.
template <class Reach>
class PacketRunAmongOthers final : public PacketRun<Reach> {
 public:
  using PacketRun<Reach>::PacketRun;

  void delivered(DeviceId from, const MessageBody& body, std::uint64_t) override {
    const auto carried = std::bit_cast<CarriedBody>(body);
    BackgroundTraffic background(this->frame());
    if (carried.kind == Carried::background) {
      return background.count_received(static_cast<std::uint64_t>(carried.time_ps));
    }
    background.note_activity();
    this->take(from, carried);
  }
};

template <class Reach>
DeviceHandlers with_reach(const PacketParts& parts) {
  if (parts.serving) return handlers_of_both<PacketRun<Reach>, PacketRun<Reach, ServedTasks>>();
  return parts.background ? handlers_of<WithBackground<PacketRunAmongOthers<Reach>>>()
                    : handlers_of<PacketRun<Reach>>();
}

}  // namespace

DeviceHandlers packet_device(const PacketParts& parts) {
  if (parts.inside_nodes) return with_reach<Everywhere>(parts);
  return parts.faulty_links ? with_reach<AcrossNodes<FaultyLinks>>(parts)
                            : with_reach<AcrossNodes<WellLinks>>(parts);
}

}  // namespace exawarp::model
