// One device during one event: what device.cc (events, streams, rings, where the time goes),
// device_network.cc (messages, stepped collectives) and device_packets.cc (packet fidelity) have in
// common. Only they include it.
#pragma once

#include <cstdint>

#include "model/device/device.h"
#include "model/device/stepped.h"
#include "model/network/message/message.h"
#include "model/network/packet/endpoint.h"

namespace exawarp::model {

// When a message has left, or Time::max(): it has no way, and stays; its time on the receiver's
// interface, and how long it travels.
struct Leaving {
  core::Time sent, wire, latency;
};

constexpr std::uint32_t kNoStream = 0xffffffff;

constexpr pdes::EventKind kind_of(DeviceEvent e) { return static_cast<pdes::EventKind>(e); }
constexpr std::uint32_t bit(std::uint32_t stream) { return 1u << stream; }

// One device during one event.
class Device {
 public:
  Device(const DeviceModel& model, DeviceState& state, pdes::Context& ctx)
      : model_(model),
        program_(model.programs[state.program]),
        parts_(state),
        state_(state),
        ctx_(ctx),
        busy_(state.busy) {}

  void on_node_done(const NodeDone& done);
  void on_chunk(const Chunk& chunk, bool waited);
  void on_step(const Chunk& chunk, bool waited);
  void on_steps_begin(const NodeDone& begun);
  void on_message(const Message& message, bool waited);
  void on_request(const Message& request);
  void on_ready(const Ready& ready);
  // At packet fidelity: messages go through `endpoint`, what it says comes by the other two.
  void use(Endpoint& endpoint) { endpoint_ = &endpoint; }
  void on_delivered(core::DeviceId from, const CarriedBody& body);
  void on_left(const CarriedBody& body, core::Time at);
  void on_start();

 private:
  [[nodiscard]] core::DeviceId self() const { return {ctx_.self().value}; }
  // As the job's graph numbers this device.
  [[nodiscard]] core::DeviceId rank() const {
    return program_.ranks == nullptr ? self() : state_.get_rank();
  }
  [[nodiscard]] std::uint32_t cursor(std::uint32_t stream) const {
    return parts_.streams[stream].cursor;
  }
  [[nodiscard]] const Task& head(std::uint32_t stream) const {
    return program_.task(stream, cursor(stream));
  }

  // How far the channel's successor is.
  [[nodiscard]] Tier tier_of(const ChannelState& channel) const {
    if (const std::optional<Tier> kept = channel.tier()) [[likely]] return *kept;
    return model_.network.tier_between(self(), {channel.next().value});
  }

  // Whether what goes by `interface` goes packet by packet.
  [[nodiscard]] bool by_packets(Interface interface) const {
    return endpoint_ != nullptr && model_.packets->carries(interface);
  }
  void take_chunk(std::uint8_t local, const Chunk& chunk);
  void take_step(std::uint8_t local, const Chunk& chunk);
  void take_message(const Message& message);
  [[nodiscard]] Interface interface_to(core::DeviceId peer) const {
    return interface_of(model_.network.tier_between(self(), peer));
  }
  void deliver_chunk(std::uint8_t local, const Chunk& chunk);
  void post(core::DeviceId to, std::int64_t bytes, const CarriedBody& body);

  void complete(std::uint32_t stream);
  void settle();
  void run(std::uint32_t stream);
  bool blocked(std::uint32_t stream, const Task& task);
  void passed(std::uint32_t stream, std::uint32_t cursor);
  bool start(std::uint32_t stream, const Task& task);
  bool start_compute(std::uint32_t stream, const Task& task);
  bool start_collective(std::uint32_t stream, const Task& task);
  bool start_stepped(std::uint32_t stream, const Task& task);
  bool ends_now(std::uint32_t stream, const Task& task);
  void end_stepped(std::uint32_t stream);
  bool start_send(std::uint32_t stream, const Task& task);
  void transmit(std::uint32_t stream, const Task& task);
  void answer(core::DeviceId source, std::uint32_t stream);
  template <class Payload>
  void notify(core::DeviceId to, DeviceEvent kind, const Payload& notice);
  [[nodiscard]] std::uint32_t waiting_for(std::uint32_t source, std::uint32_t tag) const;
  bool start_receive(const Task& task);
  void send_chunk(ChannelState& channel, std::uint16_t number, std::uint32_t step);
  bool end_collective(ChannelState& channel, std::uint32_t stream);
  [[nodiscard]] Stepped stepped() {
    return {model_, program_, state_, parts_, ctx_, endpoint_};
  }
  core::Time use_send_side(Interface interface, core::Time wire) {
    core::Time& free_at = parts_.tx_free(interface);
    const core::Time sent = sent_at(ctx_.now(), free_at, wire);
    ctx_.set(free_at, sent);
    return sent;
  }
  // Hands a message to the interface.
  Leaving leave(core::DeviceId to, Interface interface, core::Time wire, Tier tier) {
    if (model_.trouble != nullptr) [[unlikely]] {
      return leave_in_trouble(to, interface, wire, model_.network.latency(tier));
    }
    return {use_send_side(interface, wire), wire, model_.network.travel(tier, wire)};
  }
  Leaving leave_in_trouble(core::DeviceId to, Interface interface, core::Time wire,
                           core::Time latency);
  // Whether a message that arrives now has to wait until `free_at` for the interface.
  bool wait_for_receive_side(Interface interface, core::Time wire, core::Time& free_at) {
    core::Time& clock = parts_.rx_free(interface);
    free_at = received_at(ctx_.now(), clock, wire);
    ctx_.set(clock, free_at);
    return free_at > ctx_.now();
  }
  void close_account();
  void split_wait(core::Time from, TimeClass counted_as, TimeClass after);
  void done_in(core::Time delay, std::uint32_t stream) {
    ctx_.send(ctx_.self(), delay, kind_of(DeviceEvent::node_done),
              NodeDone{stream, cursor(stream)});
  }

  const DeviceModel& model_;
  const ProgramTable& program_;
  DeviceParts<DeviceState> parts_;
  DeviceState& state_;
  pdes::Context& ctx_;
  Endpoint* endpoint_ = nullptr;  // null but at packet fidelity
  std::uint32_t busy_;
  std::uint32_t ready_ = 0;  // streams whose head is to be tried
};

// What a device does with an event at packet fidelity, and at time zero.
void handle_device_on_packets(const DeviceModel& model, DeviceState& state,
                              const pdes::Event& event, pdes::Context& ctx);
void start_device_on_packets(const DeviceModel& model, DeviceState& state, pdes::Context& ctx);
// An event of the device's own kinds, at any fidelity.
void handle_device_event(Device& device, const pdes::Event& event, pdes::Context& ctx);

}  // namespace exawarp::model
