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
#include <bit>

#include "model/device/beside.h"
#include "model/device/device_run.h"

namespace exawarp::model {

using core::DeviceId;
using core::Time;
using pdes::Context;

void Device::post(DeviceId to, std::int64_t bytes, const CarriedBody& body) {
  endpoint_->send({.to = to, .bytes = bytes, .body = std::bit_cast<MessageBody>(body)});
}

void Device::on_delivered(DeviceId from, const CarriedBody& body) {
  if (model_.slots.beside && body.kind != Carried::background) note_activity(state_, ctx_);
  switch (body.kind) {
    case Carried::chunk:
    case Carried::step: {
      const bool known = body.channel < program_.channel_by_number.size();
      const std::uint8_t local = known ? program_.channel_by_number[body.channel] : kNoChannel;
      const bool is_step = body.kind == Carried::step;
      const bool has_part = local != kNoChannel && program_.channels[local].stepped == is_step;
      ctx_.check(has_part, "a device received a message of a collective it has no part in");
      if (!has_part) return;
      const Chunk chunk{0, body.time_ps, body.first, body.second, body.channel, 0, body.lane};
      return is_step ? take_step(local, chunk) : deliver_chunk(local, chunk);
    }
    case Carried::message:
      return take_message({0, body.time_ps, from.value, body.first, 0, 0});
    case Carried::background:
      return count_background(state_, static_cast<std::uint64_t>(body.time_ps), ctx_);
    case Carried::request:
      return on_request({0, body.time_ps, from.value, body.first, 0, body.second});
    case Carried::ready: return on_ready({body.second, 0});
  }
  ctx_.check(false, "a device received a message of unknown kind");
}

// Takes the chunk, and those that had overtaken it; or keeps it until those before have come.
void Device::deliver_chunk(std::uint8_t local, const Chunk& chunk) {
  const ChannelState& channel = parts_.channels[local];
  auto& overtaken = parts_.packets->overtaken;
  if (chunk.ordinal != channel.ordinal || chunk.step != channel.arrived) {
    const bool is_ahead = chunk.ordinal > channel.ordinal ||
                          (chunk.ordinal == channel.ordinal && chunk.step > channel.arrived);
    ctx_.check(is_ahead, "a chunk of a collective arrived twice");
    if (!is_ahead) return;
    return overtaken.push_back(
        ctx_, {chunk.entry_ps, chunk.ordinal, chunk.step, 1, chunk.channel, 0});
  }
  take_chunk(local, chunk);
  for (std::uint32_t i = 0; i < overtaken.size();) {
    const EarlySteps next = overtaken[i];
    if (next.channel != chunk.channel || next.ordinal != channel.ordinal ||
        next.phase != channel.arrived) {
      ++i;
      continue;
    }
    overtaken.erase(ctx_, i);
    take_chunk(local, {0, next.entry_ps, next.ordinal, next.phase, next.channel, 0, 0});
    i = 0;
  }
}

void Device::on_left(const CarriedBody& body, Time at) {
  switch (body.kind) {
    case Carried::request:
    case Carried::background:
    case Carried::ready: return;
    case Carried::message: {
      const bool expected =
          body.second < program_.streams() && head(body.second).kind == TaskKind::send;
      ctx_.check(expected, "a message left that its device was not sending");
      if (expected) done_in(at - ctx_.now(), body.second);
      return;
    }
    case Carried::chunk:
    case Carried::step: break;
  }
  const bool known = body.channel < program_.channel_by_number.size();
  const std::uint8_t local = known ? program_.channel_by_number[body.channel] : kNoChannel;
  const bool expected = local != kNoChannel && parts_.channel_packets[local].leaving != 0;
  ctx_.check(expected, "a message of a collective left that its device was not sending");
  if (!expected) return;
  ChannelPackets& packets = parts_.channel_packets[local];
  ctx_.set(packets.leaving, packets.leaving - 1);
  if (packets.left_at < at) ctx_.set(packets.left_at, at);
  const ChannelState& channel = parts_.channels[local];
  if (packets.leaving != 0 || channel.steps != 0) return;
  // Everything has been received, too.
  Time end = packets.left_at;
  if (program_.channels[local].stepped) end = std::max(end, channel.wire);
  done_in(end - ctx_.now(), program_.channels[local].stream);
}

namespace {

class DeviceOnPackets final : public EndpointListener {
 public:
  DeviceOnPackets(const DeviceModel& model, DeviceState& state, Context& ctx)
      : device_(model, state, ctx),
        endpoint_(model.packets->network, *DeviceParts<DeviceState>(state).endpoint, ctx, *this) {
    device_.use(endpoint_);
  }
  [[nodiscard]] Device& device() { return device_; }
  [[nodiscard]] Endpoint& endpoint() { return endpoint_; }

  void delivered(DeviceId from, const MessageBody& body, std::uint64_t) override {
    device_.on_delivered(from, std::bit_cast<CarriedBody>(body));
  }
  void left(const MessageBody& body, Time at) override {
    device_.on_left(std::bit_cast<CarriedBody>(body), at);
  }

 private:
  Device device_;
  Endpoint endpoint_;
};

}  // namespace

void send_background_on_packets(const DeviceModel& model, DeviceState& state, Context& ctx,
                                const Background::Message& message) {
  const CarriedBody body{.time_ps = message.bytes, .kind = Carried::background};
  DeviceOnPackets(model, state, ctx)
      .endpoint()
      .send({.to = message.to, .bytes = message.bytes, .body = std::bit_cast<MessageBody>(body)});
}

void handle_device_on_packets(const DeviceModel& model, DeviceState& state,
                              const pdes::Event& event, Context& ctx) {
  DeviceOnPackets both(model, state, ctx);
  if (Endpoint::handles(event.kind)) return both.endpoint().handle(event);
  handle_device_event(both.device(), event, ctx);
}

void start_device_on_packets(const DeviceModel& model, DeviceState& state, Context& ctx) {
  DeviceOnPackets(model, state, ctx).device().on_start();
}

}  // namespace exawarp::model
