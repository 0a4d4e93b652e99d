// Devices at analytical fidelity, each by itself or one for all that do the same.
#include "model/device/analytical_port.h"
#include "model/device/device_kinds.h"
#include "model/device/device_run.h"
#include "model/device/folded_port.h"

namespace exawarp::model {

DeviceHandlers analytical_device() { return handlers_of<DeviceRun<AnalyticalPort>>(); }
DeviceHandlers folded_device() { return handlers_of<DeviceRun<FoldedPort>>(); }

}  // namespace exawarp::model
