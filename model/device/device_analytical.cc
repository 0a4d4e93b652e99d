// Devices at analytical fidelity, each by itself, and at message fidelity, too, one for all that do
// the same.
#include "model/device/analytical_port.h"
#include "model/device/device_kinds.h"
#include "model/device/device_run.h"
#include "model/device/folded_port.h"

namespace exawarp::model {

DeviceHandlers analytical_device(bool serving) {
  using Run = DeviceRun<AnalyticalPort>;
  return serving ? handlers_of_both<Run, DeviceRun<AnalyticalPort, ServedTasks>>()
                 : handlers_of<Run>();
}
DeviceHandlers folded_device(bool messages) {
  return messages ? handlers_of<DeviceRun<FoldedMessagePort>>()
                  : handlers_of<DeviceRun<FoldedPort>>();
}

}  // namespace exawarp::model
