// A cluster's interconnect as a study describes it. Read from configs/fabrics/*.yaml by io/; the
// formulas that use it are in model/topology/ and docs/reference/model.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/time.h"
#include "model/topology/make.h"

namespace exawarp::model {

// Inside a node: every device one port on a non-blocking switch (NVSwitch).
struct NodeFabric {
  std::string name;
  std::uint32_t devices = 8;                    // per node
  std::uint32_t planes = 1;                     // parallel switches, which share the bandwidth
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

// Nodes on a fat tree, or, with a `topology`, any network, which then includes the nodes if there
// are any.
struct Fabric {
  NodeFabric node;
  ScaleOutFabric scale_out;
  std::optional<TopologySpec> topology{};
};

// A node's part of a topology: half of its end-to-end latency on each link.
NodesSpec nodes_spec(const NodeFabric& node);

// The fabric's topology, built for so many devices. Throws core::InputError as make_topology().
std::unique_ptr<Topology> make_topology(const Fabric& fabric, std::uint32_t devices);

}  // namespace exawarp::model
