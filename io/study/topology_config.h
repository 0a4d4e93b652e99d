// A fabric's `topology:` section. docs/reference/keys.md lists the keys,
// docs/reference/topologies.md explains them.
#pragma once

#include <string>
#include <vector>

#include "io/study/yaml.h"
#include "model/network/fabric.h"

namespace exawarp::io {

// The nodes below the network, where the fabric has a `node:`, and how it connects them. Throws
// core::InputError naming file, line and key. What depends on the number of devices is
// model::make_topology()'s to check.
model::TopologySpec read_topology(const YamlSection& section,
                                  const std::optional<model::NodeFabric>& node);

// The families by name.
std::vector<std::string> topology_kinds();

}  // namespace exawarp::io
