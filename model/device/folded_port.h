// The interfaces of a device that stands in for all that do the same (fold.h). What it calls
// devices are stand-ins; where they are is the fold's to say.
#pragma once

#include "model/device/analytical_port.h"
#include "model/device/fold.h"

namespace exawarp::model {

// Sends and receives of tasks, whichever Port has the interfaces.
template <class Port>
class BetweenStandIns : public Port {
 public:
  using Port::Port;

  [[nodiscard]] Tier tier_to(core::DeviceId peer) const {
    return fold().tier(this->frame_.self().value, peer.value);
  }
  void send_request(core::DeviceId to, std::uint32_t tag, std::uint32_t stream) {
    this->notify(to, tier_to(to), DeviceEvent::request_arrives,
                 Message{0, this->frame_.now().ps, this->frame_.self().value, tag, 0, stream});
  }
  void send_ready(core::DeviceId to, std::uint32_t stream) {
    this->notify(to, tier_to(to), DeviceEvent::ready_arrives, Ready{stream, 0});
  }

 protected:
  [[nodiscard]] const Fold& fold() const { return *this->frame_.model.fold; }
};

// At analytical fidelity.
class FoldedPort : public BetweenStandIns<AnalyticalPort> {
 public:
  using BetweenStandIns::BetweenStandIns;

  // By which interface a message comes does not matter.
  std::optional<core::Time> send_message(const Outgoing& out, std::uint32_t stream) {
    return send_by(interface_of(out.tier), out, stream);
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
  [[nodiscard]] Tier tier_to_member(core::DeviceId stand_in) const { return tier_to(stand_in); }
};

// At message fidelity: collectives go message by message, among devices as they are.
class FoldedMessagePort : public BetweenStandIns<MessagePort<WellLinks>> {
 public:
  using BetweenStandIns::BetweenStandIns;

  [[nodiscard]] core::DeviceId member(const ProgramTable& program, std::uint8_t channel,
                                      core::DeviceId rank, std::uint32_t position) const {
    return job().device_of(
        program.channels[channel].among.member(*program.graph, rank, position));
  }
  [[nodiscard]] Tier tier_to_member(core::DeviceId device) const {
    const core::DeviceId rank = fold().stand_ins()[frame_.self().value].rank;
    return network().tier_between(job().device_of(rank), device);
  }
  [[nodiscard]] core::LpId lp_of(core::DeviceId device) const { return fold().at(device); }

 private:
  [[nodiscard]] const PlacedJob& job() const { return frame_.model.jobs.front(); }
};

}  // namespace exawarp::model
