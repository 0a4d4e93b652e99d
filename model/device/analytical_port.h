// A device's network interfaces at analytical fidelity: collectives end by closed forms, and
// nothing contends, but for what a device sends at one time where that shares its interfaces.
//
// A collective's end depends on when its last member came to it. So notices carry the latest entry
// up a tree of 16 children and down again: at most kNoticeHops of a 16th of the least latency. No
// collective takes less than one latency, so when all have heard, its end is not over yet.
#pragma once

#include <algorithm>

#include "model/device/message_port.h"
#include "model/device/shared_interfaces.h"

namespace exawarp::model {

constexpr std::int64_t kNoticeHops = 12;

class AnalyticalPort : public MessagePort<WellLinks> {
 public:
  using MessagePort::MessagePort;

  static constexpr bool kMayShare = true;

  std::optional<core::Time> send_message(const Outgoing& out, std::uint32_t stream) {
    return send_by(ends_of(out).in, out, stream);
  }
  template <class Payload>
  static bool holds_back(Interface, DeviceEvent, const Payload&) {
    return false;
  }

  static void carry_out(Collective& c) {
    c.algorithm = Algorithm::in_network;
    c.type = schema::CollectiveType::BARRIER;
    c.lanes = 1;
    c.root = 0;
  }
  // The closed form holds it.
  [[nodiscard]] static core::Time start_overhead(const Choice&) { return {}; }
  [[nodiscard]] core::Time steps_end(const ProgramTable& program, const Task& task,
                                     core::DeviceId rank) const {
    const SteppedTask& stepped = program.stepped[task.tag];
    const core::Time alone = program.times[class_of(program, task, rank)];
    const core::Time entry = frame_.parts.channels[task.channel].last_entry;
    return std::max(frame_.now(), core::sum_to_end(entry + stepped.choice.start, alone));
  }
  [[nodiscard]] core::Time step_latency(Tier, core::Time, core::Time) const {
    return frame_.model.notice_latency;
  }
  // When all members are sure to know of the last one's entry, of which this one knows.
  [[nodiscard]] core::Time known_to_all(const ChannelState& channel) const {
    return core::sum_to_end(channel.last_entry, kNoticeHops * frame_.model.notice_latency);
  }
  // Of what a collective uses while it lasts. Requires that interfaces are shared.
  [[nodiscard]] static InterfaceUse use_of(const ProgramTable& program, const Task& task,
                                           core::DeviceId rank) {
    return program.uses[class_of(program, task, rank)];
  }

 protected:
  // A message that shares interfaces takes as long as it would beside what is being sent when it
  // leaves: its arrival is told then.
  std::optional<core::Time> send_by(Interface in, const Outgoing& out, std::uint32_t stream) {
    if (frame_.parts.sharing == nullptr) return send_taking(out.wire, in, out);
    SharedInterfaces shared(frame_);
    InterfaceUse use;
    use.ppm[static_cast<std::size_t>(interface_of(out.tier))] =
        static_cast<std::uint32_t>(kWholeUse) / network().ports(interface_of(out.tier));
    send_taking(shared.beside_others(out.wire, use), in, out);
    shared.begin(stream, out.wire, use);
    return {};
  }

 private:
  core::Time send_taking(core::Time wire, Interface in, const Outgoing& out) {
    return send_tagged(out, {core::sum_to_end(frame_.now(), wire), wire,
                             network().travel(out.tier, wire), in});
  }
  // Into ProgramTable::times and ::uses.
  [[nodiscard]] static std::size_t class_of(const ProgramTable& program, const Task& task,
                                            core::DeviceId rank) {
    const Channel& channel = program.channels[task.channel];
    const std::uint32_t first_time = program.stepped[task.tag].first_time;
    if (channel.groups->are_alike()) return first_time;
    const core::DeviceId first = channel.among.member(*program.graph, rank, 0);
    return first_time + channel.groups->class_of(first);
  }
};

}  // namespace exawarp::model
