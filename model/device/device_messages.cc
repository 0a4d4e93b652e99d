// Devices at message fidelity.
#include "model/device/background_traffic.h"
#include "model/device/device_kinds.h"
#include "model/device/device_run.h"
#include "model/device/message_port.h"

namespace exawarp::model {
namespace {

template <class Links>
DeviceHandlers with_links(const MessageParts& parts) {
  using Port = MessagePort<Links>;
  using Run = DeviceRun<Port>;
  if (parts.serving) return handlers_of_both<Run, DeviceRun<Port, ServedTasks>>();
  return parts.background ? handlers_of<WithBackground<Run>>() : handlers_of<Run>();
}

}  // namespace

DeviceHandlers message_device(const MessageParts& parts) {
  return parts.faulty_links ? with_links<FaultyLinks>(parts) : with_links<WellLinks>(parts);
}

}  // namespace exawarp::model
