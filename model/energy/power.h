// What a device draws while it computes: what was measured of the kernel (Priced::watts), and where
// nothing was, what follows from how much of the device's rates it uses:
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
#include "model/compute/compute_model.h"

namespace exawarp::model {

// What is around the devices of a system, whatever they do. Read from a system's `power:`.
struct SystemPower {
  std::int64_t node_mw = 0;    // of a node, besides its devices: host, fans, network cards
  std::int64_t switch_mw = 0;  // of a switch outside nodes
  std::int64_t link_mw = 0;    // of a link outside nodes: the transceivers of both its ends
  std::uint32_t nodes_per_rack = 4;
  double carbon_g_per_kwh = 0;      // of the grid; 0: not known
  double cost_per_device_hour = 0;  // in whatever currency; 0: not known
};

// Watts that the formula says of an operation that takes `duration`. Requires accelerator.power to
// be known. An operation of no known work counts as one that waits for memory.
double modelled_power_w(const Accelerator& accelerator, const ComputeOperation& operation,
                        core::Time duration);

// What an operation adds to idle power, on average over `duration`: its price's, or longer where
// ranks lag. Measured watts are those of the kernel itself, without its launch. Requires the same.
double above_idle_w(const Accelerator& accelerator, const ComputeOperation& operation,
                    const Priced& priced, core::Time duration);

// How that is known.
constexpr Provenance power_provenance(const Priced& priced) {
  return priced.watts > 0 ? priced.watts_provenance : Provenance::modelled;
}

}  // namespace exawarp::model
