// The interfaces of a device that stands in for all that do the same (fold.h), at analytical
// fidelity. What it calls devices are stand-ins; where they are is the fold's to say.
#pragma once

#include "model/device/analytical_port.h"
#include "model/device/fold.h"

namespace exawarp::model {

class FoldedPort : public AnalyticalPort {
 public:
  using AnalyticalPort::AnalyticalPort;

  [[nodiscard]] Tier tier_to(core::DeviceId peer) const {
    return fold().tier(frame_.self().value, peer.value);
  }
  // Nothing contends, so by which interface a message comes does not matter.
  std::optional<core::Time> send_message(const Outgoing& out, std::uint32_t) {
    return send_tagged(out, {core::sum_to_end(frame_.now(), out.wire), out.wire,
                             network().travel(out.tier, out.wire), interface_of(out.tier)});
  }
  void send_request(core::DeviceId to, std::uint32_t tag, std::uint32_t stream) {
    notify(to, tier_to(to), DeviceEvent::request_arrives,
           Message{0, frame_.now().ps, frame_.self().value, tag, 0, stream});
  }
  void send_ready(core::DeviceId to, std::uint32_t stream) {
    notify(to, tier_to(to), DeviceEvent::ready_arrives, Ready{stream, 0});
  }

  // One of each class of members is told when the last has come.
  [[nodiscard]] Membership membership(const ProgramTable&, std::uint8_t channel,
                                      core::DeviceId) const {
    const Fold::Group& group = fold().group(frame_.self().value, channel);
    return {static_cast<std::uint32_t>(group.members.size()), group.position};
  }
  [[nodiscard]] core::DeviceId member(const ProgramTable&, std::uint8_t channel, core::DeviceId,
                                      std::uint32_t position) const {
    return {fold().group(frame_.self().value, channel).members[position]};
  }

 private:
  [[nodiscard]] const Fold& fold() const { return *frame_.model.fold; }
};

}  // namespace exawarp::model
