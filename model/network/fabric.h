// A cluster's interconnect at message fidelity: constants. Read from configs/fabrics/*.yaml by
// io/; the formulas that use it are in model/topology/ and docs/model.md.
#pragma once

#include <cstdint>
#include <string>

#include "core/time.h"

namespace exawarp::model {

// Inside a node: every device one port on a non-blocking switch (NVSwitch).
struct NodeFabric {
  std::string name;
  std::uint32_t devices = 8;                    // per node
  std::int64_t bandwidth_bytes_per_s = 0;       // per device and direction, as achieved
  core::Time latency;                           // end to end, one message
};

// Across nodes: one interface a device, a three-tier fat tree (leaf, pod spine, core).
struct ScaleOutFabric {
  std::string name;
  std::int64_t bandwidth_bytes_per_s = 0;       // per interface and direction, as achieved
  core::Time endpoint_latency;                  // both interfaces and their software together
  core::Time switch_latency;                    // per switch passed
  core::Time link_latency;                      // per link passed
  std::uint32_t devices_per_leaf = 0;           // interfaces below one leaf switch
  std::uint32_t leaves_per_pod = 0;
  std::uint32_t spines_per_pod = 0;
  std::uint32_t cores = 0;                      // switches of the top tier; 0: as many as needed
};

struct Fabric {
  NodeFabric node;
  ScaleOutFabric scale_out;
};

}  // namespace exawarp::model
