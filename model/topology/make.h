// A cluster's topology from what a study says of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/topology/clos.h"
#include "model/topology/dragonfly.h"
#include "model/topology/fully_connected.h"
#include "model/topology/graph.h"
#include "model/topology/hyperx.h"
#include "model/topology/nodes.h"
#include "model/topology/single_switch.h"
#include "model/topology/torus.h"

namespace exawarp::model {

// One network. The families' own headers say what the figures mean.
struct FamilySpec {
  std::variant<SingleSwitchSpec, FullyConnectedSpec, TorusSpec, ClosSpec, DragonflySpec, HyperXSpec,
               GraphSpec>
      shape;
  std::uint32_t planes = 1;  // equal networks side by side; only of a Clos network
  std::string place;         // "file:line: key ...", what an error starts with
};

struct TopologySpec {
  // One: the network itself. Several: a product, the first dimension varying fastest.
  std::vector<FamilySpec> networks;
  std::vector<std::uint32_t> sizes;  // devices of each dimension of a product
  core::Time forwarding;             // of a product's devices, between dimensions
  std::optional<NodesSpec> nodes;    // NVSwitch nodes below the network
  std::string place;
};

// Throws core::InputError, starting with the spec's place, where no such network of `devices`
// devices exists, or it is larger than identifiers allow.
std::unique_ptr<Topology> make_topology(const TopologySpec& spec, std::uint32_t devices);

}  // namespace exawarp::model
