// A device's network interfaces at analytical fidelity: nothing contends, and collectives end by
// closed forms.
//
// A collective's end depends on when its last member came to it. So notices carry the latest entry
// up a tree of 16 children and down again: at most 12 hops of a 16th of the least latency. No
// collective takes less than one latency, so when all have heard, its end is not over yet.
#pragma once

#include <algorithm>

#include "model/device/message_port.h"

namespace exawarp::model {

class AnalyticalPort : public MessagePort<WellLinks> {
 public:
  using MessagePort::MessagePort;

  std::optional<core::Time> send_message(const Outgoing& out, std::uint32_t) {
    return send_tagged(out, {core::sum_to_end(frame_.now(), out.wire), out.wire,
                             network().travel(out.tier, out.wire), ends_of(out).in});
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
    const Channel& channel = program.channels[task.channel];
    const core::DeviceId first = channel.among.member(*program.graph, rank, 0);
    const core::Time alone = program.times[stepped.first_time + channel.groups->class_of(first)];
    const core::Time entry = frame_.parts.channels[task.channel].last_entry;
    return std::max(frame_.now(), core::sum_to_end(entry + stepped.choice.start, alone));
  }
  [[nodiscard]] core::Time step_latency(Tier, core::Time, core::Time) const {
    return frame_.model.notice_latency;
  }
};

}  // namespace exawarp::model
