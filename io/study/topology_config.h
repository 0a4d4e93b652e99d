// A fabric's `topology:` section. docs/reference/keys.md lists the keys,
// docs/reference/topologies.md explains them.
#pragma once

#include <optional>

#include "io/study/schema.h"
#include "io/study/yaml.h"
#include "model/topology/fabric.h"

namespace exawarp::io {

// The nodes below the network, where the fabric has a `node:`, and how it connects them. Throws
// core::InputError naming file, line and key. What depends on the number of devices is
// model::make_topology()'s to check.
model::Fabric read_topology(const YamlSection& section, std::optional<model::NodesSpec> nodes);

const SectionSchema& topology_schema();

}  // namespace exawarp::io
