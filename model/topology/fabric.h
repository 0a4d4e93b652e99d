// A cluster's interconnect as a study describes it, and the topology that it becomes. Read from
// configs/fabrics/*.yaml by io/; formulas are in the families' headers and docs/reference/model.md.
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

struct Fabric {
  // One: the network itself. Several: a product, the first dimension varying fastest.
  std::vector<FamilySpec> networks{};
  std::vector<std::uint32_t> sizes{};  // devices of each dimension of a product
  core::Time forwarding{};             // of a product's devices, between dimensions
  std::optional<NodesSpec> nodes{};    // NVSwitch nodes below the network
  std::string place{};
  // Nodes on a fat tree of whole tiers (nodes_on_a_fat_tree): message fidelity tells distances by
  // Tier, and algorithms are chosen by the way over the cores, whether or not so few devices have
  // one.
  bool by_tier = false;

  [[nodiscard]] std::uint32_t devices_per_node() const { return nodes ? nodes->devices : 1; }
  // The one network if it is a Clos network, else null.
  [[nodiscard]] const ClosSpec* clos() const {
    return networks.size() == 1 ? std::get_if<ClosSpec>(&networks.front().shape) : nullptr;
  }
};

// The fabric that a study describes by `node:` and `scale_out:`. All links of the tree are like
// `tree.host`; it has one leaf a device and no rails.
Fabric nodes_on_a_fat_tree(NodesSpec nodes, ClosSpec tree, const std::string& name);

// Throws core::InputError, starting with the fabric's place, where no such network of `devices`
// devices exists, or it is larger than identifiers allow.
std::unique_ptr<Topology> make_topology(const Fabric& fabric, std::uint32_t devices);

}  // namespace exawarp::model
