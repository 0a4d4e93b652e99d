// The least capacity that separates two sets of devices, switches being on either side as it suits:
// a maximum flow (Edmonds, Karp, 1972). For graphs of hundreds of vertices; families have formulas.
#pragma once

#include <cstdint>
#include <functional>

#include "model/topology/topology.h"

namespace exawarp::model {

// Bytes a second, in one direction.
WideRate least_cut(const Topology& topology,
                   const std::function<bool(core::DeviceId)>& in_first_half);

}  // namespace exawarp::model
