// Devices at analytical fidelity.
#include "model/device/analytical_port.h"
#include "model/device/device_kinds.h"
#include "model/device/device_run.h"

namespace exawarp::model {

DeviceHandlers analytical_device() { return handlers_of<DeviceRun<AnalyticalPort>>(); }

}  // namespace exawarp::model
