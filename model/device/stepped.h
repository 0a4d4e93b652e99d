// Collectives other than plain rings, on a device: whatever collective/collective.h describes.
//
// A lane in progress is four words: its phase and how many of the phase's messages have come. What
// comes for a later phase or a later collective is counted until the device is there. At
// analytical fidelity the same machinery carries notices only (see end()).
#pragma once

#include "model/device/device.h"
#include "model/network/message/message.h"
#include "model/network/packet/endpoint.h"

namespace exawarp::model {

// One device's stepped collectives during one event. Sends as the device's interfaces allow.
class Stepped {
 public:
  Stepped(const DeviceModel& model, const ProgramTable& program, DeviceState& state,
          DeviceParts<DeviceState>& parts, pdes::Context& ctx, Endpoint* endpoint)
      : model_(model),
        program_(program),
        state_(state),
        parts_(parts),
        ctx_(ctx),
        endpoint_(endpoint) {}

  // `task`'s collective is reached; sets its entry. Returns whether it takes no time.
  bool start(const Task& task, std::uint32_t stream);
  // Its start overhead is over: the first messages leave. Returns whether it is over.
  bool begin(const Task& task);
  // A message of `task`, the head of its channel's stream, or of one to come. Returns whether the
  // collective in progress is over.
  bool arrive(std::uint8_t channel, const Task* task, const Chunk& chunk);
  // After start(), begin() or arrive() returned true: when the task is over here, now or later;
  // Time::max(): when the last of its packets has left, which the endpoint will say.
  [[nodiscard]] core::Time end(const Task& task) const;

 private:
  struct Place {
    Collective collective;
    Membership in;
  };
  [[nodiscard]] Place place_of(const Task& task) const;
  [[nodiscard]] core::DeviceId member(const Task& task, std::uint32_t position) const;
  void advance(const Task& task, const Place& place, std::uint32_t index);
  void send(const Task& task, const Place& place, std::uint32_t lane, const Transfer& t);
  void post(const Task& task, std::uint32_t lane, core::DeviceId peer, const Transfer& t);
  struct Handed {
    core::DeviceId to;
    Interface interface;
    bool free;  // takes no time on the interface
  };
  [[nodiscard]] Travel leave(const Task& task, const Handed& message, const UsualWay& usual);
  std::uint32_t take_early(const Task& task, std::uint32_t lane, std::uint32_t phase);
  void keep_early(const Chunk& chunk);
  bool finish_if_over(const Task& task);
  [[nodiscard]] Tier span_of(const Task& task, const Place& place) const;
  [[nodiscard]] core::Time wire(const Task& task, std::int64_t bytes, Interface interface) const {
    return model_.network.wire_time(carried_bytes(what(task).choice, bytes), interface);
  }
  [[nodiscard]] std::uint32_t first_lane(std::uint8_t channel) const;
  void heard_of(ChannelState& channel, std::int64_t entry_ps) {
    if (channel.last_entry.ps < entry_ps) ctx_.set(channel.last_entry, core::Time{entry_ps});
  }
  [[nodiscard]] core::DeviceId self() const { return {ctx_.self().value}; }
  [[nodiscard]] core::DeviceId rank() const {
    return program_.ranks == nullptr ? self() : state_.get_rank();
  }
  [[nodiscard]] const SteppedTask& what(const Task& task) const {
    return program_.stepped[task.tag];
  }

  const DeviceModel& model_;
  const ProgramTable& program_;
  DeviceState& state_;
  DeviceParts<DeviceState>& parts_;
  pdes::Context& ctx_;
  Endpoint* endpoint_;  // null but at packet fidelity
};

}  // namespace exawarp::model
