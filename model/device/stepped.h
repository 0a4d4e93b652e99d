// Collectives other than plain rings, on a device: whatever collective/collective.h describes.
//
// A lane in progress is four words: its phase and how many of the phase's messages have come. What
// comes for a later phase or a later collective is counted until the device is there. What is sent,
// and when it has left, is the port's (message_port.h and those that differ from it).
#pragma once

#include "model/device/device_frame.h"
#include "model/device/program_table.h"

namespace exawarp::model {

// One device's stepped collectives during one event.
template <class Port>
class Stepped {
 public:
  Stepped(DeviceFrame& frame, const ProgramTable& program, Port& port)
      : model_(frame.model),
        program_(program),
        frame_(frame),
        parts_(frame.parts),
        ctx_(frame.ctx),
        port_(port) {}

  // `task`'s collective is reached; sets its entry. Returns whether it takes no time.
  bool start(const Task& task, std::uint32_t stream);
  // Its start overhead is over: the first messages leave. Returns whether it is over.
  bool begin(const Task& task);
  // A message of `task`, the head of its channel's stream, or of one to come. Returns whether the
  // collective in progress is over.
  bool arrive(std::uint8_t channel, const Task* task, const Chunk& chunk);
  // After start(), begin() or arrive() returned true, the port's steps_end() says when the task is
  // over here.

 private:
  struct Place {
    Collective collective;
    Membership in;
  };
  [[nodiscard]] Place place_of(const Task& task) const;
  [[nodiscard]] core::DeviceId member(const Task& task, std::uint32_t position) const;
  void advance(const Task& task, const Place& place, std::uint32_t index);
  void send(const Task& task, const Place& place, std::uint32_t lane, const Transfer& t);
  bool post(const Task& task, std::uint32_t lane, core::DeviceId peer, Interface interface,
            const Transfer& t);
  struct Handed {
    core::DeviceId to;
    Interface interface;
    std::uint8_t queue;
    bool free;  // takes no time on the interface
  };
  [[nodiscard]] Travel leave(const Task& task, const Handed& message, const UsualTransfer& usual);
  std::uint32_t take_early(const Task& task, std::uint32_t lane, std::uint32_t phase);
  void keep_early(const Chunk& chunk);
  [[nodiscard]] bool has_phase(const Place& place, std::uint32_t lane, std::uint32_t phase) const;
  [[nodiscard]] bool check_early(const Task& task, const Place& place) const;
  bool finish_if_over(const Task& task);
  [[nodiscard]] Tier span_of(const Task& task, const Place& place) const;
  [[nodiscard]] core::Time wire(const Task& task, std::int64_t bytes, Interface interface) const {
    return model_.network.wire_time(carried_bytes(payload(task, interface), bytes), interface);
  }
  [[nodiscard]] std::uint32_t payload(const Task& task, Interface interface) const {
    return what(task).choice.payload_ppm[static_cast<std::size_t>(interface)];
  }
  [[nodiscard]] std::uint32_t first_lane(std::uint8_t channel) const;
  void heard_of(ChannelState& channel, std::int64_t entry_ps) {
    if (channel.last_entry.ps < entry_ps) ctx_.set(channel.last_entry, core::Time{entry_ps});
  }
  [[nodiscard]] core::DeviceId self() const { return {ctx_.self().value}; }
  [[nodiscard]] core::DeviceId rank() const {
    return frame_.rank_in(program_);
  }
  [[nodiscard]] const SteppedTask& what(const Task& task) const {
    return program_.stepped[task.tag];
  }

  const DeviceModel& model_;
  const ProgramTable& program_;
  DeviceFrame& frame_;
  DeviceParts<DeviceState>& parts_;
  pdes::Context& ctx_;
  Port& port_;
};

}  // namespace exawarp::model
