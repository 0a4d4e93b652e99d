// Devices that behave alike: the same program, and partners that behave alike.
#pragma once

#include <cstdint>
#include <vector>

#include "model/workload/graph.h"

namespace exawarp::model {

struct DeviceClasses {
  std::vector<std::uint32_t> class_of;        // by device
  std::vector<std::uint32_t> representative;  // by class: its first device
};

// The coarsest classes such that devices of one class run one program, the peers of each message
// are of one class, and the communicators of each group hold the same classes.
DeviceClasses device_classes(const WorkloadGraph& graph);

}  // namespace exawarp::model
