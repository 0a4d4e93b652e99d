// Devices at packet fidelity: messages that leave a node go through the device's endpoint, which
// cuts them into packets, and come back as calls: delivered() when all of a message is here,
// left() when its last packet has been given to the line.
//
// What happens inside a node stays as it is at message fidelity, unless the study asks for packets
// there as well. Collectives whose data the network combines stay with the interfaces' clocks.
//
// left() names a time to come, so it sends nothing: an event at that time ends the node.
#include <bit>

#include "model/device/background_traffic.h"
#include "model/device/carried_messages.h"
#include "model/device/device_kinds.h"
#include "model/device/device_run.h"
#include "model/device/packet_port.h"

namespace exawarp::model {
namespace {

using core::DeviceId;
using core::Time;

template <class Reach, class Source = MappedProgram>
class PacketRun : public EndpointListener {
 public:
  PacketRun(const DeviceModel& model, DeviceState& state, pdes::Context& ctx)
      : frame_(model, state, ctx),
        endpoint_(model.packets->network, *frame_.parts.endpoint, ctx, *this),
        port_(frame_, endpoint_),
        device_(frame_, source_of<Source>(frame_), port_) {}

  void start(Time begin) { device_.start(begin); }
  void handle(const pdes::Event& event) {
    if (Endpoint::handles(event.kind)) return endpoint_.handle(event);
    endpoint_.settle();
    device_.handle(event);
  }
  [[nodiscard]] PacketPort<Reach>& port() { return port_; }

  void delivered(DeviceId from, const MessageBody& body, std::uint64_t) override {
    take(from, std::bit_cast<CarriedBody>(body));
  }
  void left(const MessageBody& body, Time at) override {
    carried().left(std::bit_cast<CarriedBody>(body), at);
  }

 protected:
  void take(DeviceId from, const CarriedBody& body) { carried().take(from, body); }
  [[nodiscard]] DeviceFrame& frame() { return frame_; }

 private:
  [[nodiscard]] CarriedMessages<PacketPort<Reach>, Source> carried() { return {frame_, device_}; }

  DeviceFrame frame_;
  Endpoint endpoint_;
  PacketPort<Reach> port_;
  Device<Source, PacketPort<Reach>> device_;
};

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

// Every event goes to the endpoint, far behind the state's first lines.
std::uint32_t foresee_endpoint(void* memory, const pdes::Event&, pdes::Context&) {
  const DeviceParts<DeviceState> parts(*static_cast<DeviceState*>(memory));
  Endpoint::prefetch_head(*parts.endpoint);
  if (parts.stepped != nullptr) __builtin_prefetch(parts.stepped, 1);
  return 1;
}

void foresee_messages(void* memory, const pdes::Event& event, pdes::Context&) {
  const DeviceParts<DeviceState> parts(*static_cast<DeviceState*>(memory));
  Endpoint::prefetch_for(event, *parts.endpoint);
  if (parts.stepped != nullptr && !parts.stepped->lanes.empty()) {
    __builtin_prefetch(parts.stepped->lanes.begin(), 1);
  }
}

DeviceHandlers with_parts(const PacketParts& parts) {
  if (parts.inside_nodes) return with_reach<Everywhere>(parts);
  return parts.faulty_links ? with_reach<AcrossNodes<FaultyLinks>>(parts)
                            : with_reach<AcrossNodes<WellLinks>>(parts);
}

}  // namespace

DeviceHandlers packet_device(const PacketParts& parts) {
  DeviceHandlers out = with_parts(parts);
  if (parts.outgrow_caches) {
    out.foresee = foresee_endpoint;
    out.foresee_more = foresee_messages;
  }
  return out;
}

}  // namespace exawarp::model
