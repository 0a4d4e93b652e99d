// What a device draws while it computes, from how much of its rates a kernel uses:
//
//   P = idle + (limit - idle) * min(1, u_c / compute_saturation + memory_share * u_m)
//
// where u_c and u_m are the shares of the dense peak (of the kernel's type) and of the memory's
// bandwidth. Measured GEMMs of H200, B200 and GB200 (ai-dynamo/aiconfigurator, Apache-2.0) sit at
// the limit from 0.4 of the peak rate on; those bound by memory alone draw 0.8 of what lies between
// idle and the limit. The tenth that draws least draws 0.4 to 0.6 of it: a kernel's operands
// matter, and no model of rates sees them.
#pragma once

#include <cstdint>

#include "core/time.h"
#include "model/compute/accelerator.h"
#include "model/workload/workload.capnp.h"

namespace exawarp::model {

// What is around the devices of a system, whatever they do. Read from a system's `power:`.
struct SystemPower {
  std::int64_t node_mw = 0;    // of a node, besides its devices: host, fans, network cards
  std::int64_t switch_mw = 0;  // of a switch outside nodes
  double carbon_g_per_kwh = 0;      // of the grid; 0: not known
  double cost_per_device_hour = 0;  // in whatever currency; 0: not known
};

// Watts that `node`, a compute or memory node that takes `duration`, makes a device draw. Requires
// accelerator.power to be known. A node of no known work counts as one that waits for memory.
double node_power_w(const Accelerator& accelerator, schema::Node::Reader node, core::Time duration);

}  // namespace exawarp::model
