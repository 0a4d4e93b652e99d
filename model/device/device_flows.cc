// Devices at flow fidelity: messages that leave a node go to the region of the fabric, which gives
// each its share of the links of its way, and come back as events: one at the receiver when all of
// the message is there, one at the sender when it has left.
//
// What happens inside a node stays as it is at message fidelity; so do notices of long messages,
// and collectives whose data the network combines.
#include <bit>

#include "model/device/carried_messages.h"
#include "model/device/device_kinds.h"
#include "model/device/device_run.h"
#include "model/device/packet_port.h"
#include "model/network/flow/flow_carrier.h"

namespace exawarp::model {
namespace {

using core::DeviceId;
using core::Time;

template <class Source = MappedProgram>
class FlowRun {
  using Port = PacketPort<AcrossNodes<WellLinks>, FlowCarrier>;

 public:
  FlowRun(const DeviceModel& model, DeviceState& state, pdes::Context& ctx)
      : frame_(model, state, ctx),
        carrier_(model.flows->network, ctx),
        port_(frame_, carrier_),
        device_(frame_, source_of<Source>(frame_), port_) {}

  void start(Time begin) { device_.start(begin); }
  void handle(const pdes::Event& event) {
    if (FlowCarrier::handles(event.kind)) return carrier_.handle(event, *this);
    device_.handle(event);
  }

  void delivered(DeviceId from, const MessageBody& body, std::uint64_t) {
    const auto carried = std::bit_cast<CarriedBody>(body);
    if (frame_.model.traces_messages && carried.kind == Carried::message) [[unlikely]] {
      MessageTrace::received(frame_.ctx, from, carried.first);
    }
    CarriedMessages<Port, Source>(frame_, device_).take(from, carried);
  }
  void left(const MessageBody& body, Time at) {
    CarriedMessages<Port, Source>(frame_, device_).left(std::bit_cast<CarriedBody>(body), at);
  }

 private:
  DeviceFrame frame_;
  FlowCarrier carrier_;
  Port port_;
  Device<Source, Port> device_;
};

}  // namespace

DeviceHandlers flow_device(bool serving) {
  return serving ? handlers_of_both<FlowRun<>, FlowRun<ServedTasks>>() : handlers_of<FlowRun<>>();
}

}  // namespace exawarp::model
