// From descriptions to topologies: what a family's constructor requires is checked here first, in
// 64 bits and in the words of the study.
#include "model/topology/fabric.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "model/topology/planes.h"
#include "model/topology/product.h"

namespace exawarp::model {
namespace {

constexpr std::uint64_t kVerticesMax = 1u << 28;  // devices and switches
constexpr std::uint64_t kPortsMax = 1u << 16;     // of a vertex

std::uint64_t product_of(std::span<const std::uint32_t> sizes) {
  std::uint64_t product = 1;
  for (const std::uint32_t size : sizes) product = std::min(product * size, kVerticesMax + 1);
  return product;
}

// Builds one network, having checked all that its constructor requires.
struct Builder {
  std::uint32_t devices;
  const FamilySpec& family;

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw core::InputError(family.place, fmt::format(format, std::forward<Args>(args)...));
  }
  void require_devices(std::uint64_t made, const std::string& of) const {
    if (made != devices) {
      fail("{} makes {} devices; expected the {} there are to connect", of, made, devices);
    }
  }
  void require_ports(std::uint64_t ports) const {
    if (ports > kPortsMax) fail("{} ports of a switch or device; expected at most 65536", ports);
  }
  void require_vertices(std::uint64_t vertices) const {
    if (vertices > kVerticesMax) {
      fail("{} devices and switches; expected at most {}", vertices, kVerticesMax);
    }
  }

  std::unique_ptr<Topology> operator()(const SingleSwitchSpec& s) const {
    require_ports(std::max(devices, s.planes));
    return std::make_unique<SingleSwitch>(s, devices);
  }
  std::unique_ptr<Topology> operator()(const FullyConnectedSpec& s) const {
    require_ports(devices);
    return std::make_unique<FullyConnected>(s, devices);
  }
  std::unique_ptr<Topology> operator()(TorusSpec s) const {
    if (s.dims.empty()) s.dims = {devices};  // a ring
    require_devices(product_of(s.dims), fmt::format("{}", fmt::join(s.dims, " x ")));
    std::uint64_t diameter = 0;
    for (const std::uint32_t k : s.dims) diameter += s.wraps ? k / 2 : k - 1;
    if (diameter >= kPortsMax) fail("a path of {} links; expected below {}", diameter, kPortsMax);
    return std::make_unique<Torus>(s);
  }
  std::unique_ptr<Topology> operator()(const ClosSpec& s) const {
    if (devices % s.rails != 0) {
      fail("{} devices on {} rails: the last node lacks some; expected whole nodes", devices,
           s.rails);
    }
    const std::uint32_t blocks = ceil_div(devices / s.rails, s.devices_per_leaf);
    const std::uint64_t groups = std::uint64_t{blocks} * s.rails;
    const std::uint64_t linked = s.rails_apart ? blocks : groups;
    if (linked > 1 && s.spines_per_pod == 0) {
      fail("{} leaves that nothing connects; expected spines", linked);
    }
    const std::uint64_t a_pod = s.groups_per_pod == 0 ? linked : s.groups_per_pod;
    const std::uint64_t pods = (groups + a_pod - 1) / a_pod;
    const std::uint64_t cores =
        s.cores != 0 ? s.cores : std::uint64_t{s.spines_per_pod} * a_pod;
    require_vertices(devices + groups * s.leaves_per_device + pods * s.spines_per_pod +
                     (pods > 1 && !s.rails_apart ? cores : 0));
    require_ports(std::uint64_t{s.devices_per_leaf} +
                  std::uint64_t{s.spines_per_pod} * s.leaf_bundle);
    require_ports(a_pod * s.leaves_per_device * s.leaf_bundle +
                  (pods > 1 ? (cores / std::max(1u, s.spines_per_pod) + 1) * s.spine_bundle : 0));
    require_ports(pods * s.spine_bundle);
    auto plane = std::make_unique<Clos>(s, devices);
    if (family.planes == 1) return plane;
    require_vertices(devices + std::uint64_t{family.planes} * plane->switches());
    return std::make_unique<Planes>(family.planes, std::move(plane));
  }
  std::unique_ptr<Topology> operator()(const DragonflySpec& s) const {
    const std::uint64_t globals = std::uint64_t{s.routers} * s.global_links;
    require_devices(std::uint64_t{s.devices_per_router} * s.routers * s.groups,
                    fmt::format("{} devices a router x {} routers x {} groups",
                                s.devices_per_router, s.routers, s.groups));
    if (s.groups > globals + 1) {
      fail("{} groups, but {} global links of a group reach {} at most", s.groups, globals,
           globals + 1);
    }
    if (s.groups > 1 && globals % (s.groups - 1) != 0) {
      fail("{} global links of a group cannot be spread evenly over the {} other groups; expected "
           "routers x global_links to be a multiple of groups - 1",
           globals, s.groups - 1);
    }
    require_ports(std::uint64_t{s.devices_per_router} + s.routers + s.global_links);
    require_vertices(devices + std::uint64_t{s.routers} * s.groups);
    return std::make_unique<Dragonfly>(s);
  }
  std::unique_ptr<Topology> operator()(const HyperXSpec& s) const {
    require_devices(std::min(product_of(s.dims) * s.hosts, kVerticesMax + 1),
                    fmt::format("{} switches x {} hosts", fmt::join(s.dims, " x "), s.hosts));
    std::uint64_t ports = s.hosts;
    for (std::size_t i = 0; i < s.dims.size(); ++i) {
      ports += std::uint64_t{s.dims[i] - 1} * s.width[i];
    }
    require_ports(ports);
    return std::make_unique<HyperX>(s);
  }
  std::unique_ptr<Topology> operator()(const GraphSpec& s) const {
    require_devices(s.devices, "the graph");
    return std::make_unique<Graph>(s, family.place);
  }
};

std::unique_ptr<Topology> make_network(const FamilySpec& family, std::uint32_t devices) {
  return std::visit(Builder{devices, family}, family.shape);
}

std::unique_ptr<Topology> make_product(const Fabric& spec, std::uint32_t devices) {
  EXAWARP_CHECK(spec.sizes.size() == spec.networks.size(), spec.sizes.size());
  const std::uint64_t made = product_of(spec.sizes);
  if (made != devices) {
    throw core::InputError(
        spec.place, fmt::format("{} makes {} devices; expected the {} there are to connect",
                                fmt::join(spec.sizes, " x "), made, devices));
  }
  std::vector<std::unique_ptr<Topology>> dims;
  for (std::size_t i = 0; i < spec.networks.size(); ++i) {
    dims.push_back(make_network(spec.networks[i], spec.sizes[i]));
  }
  if (Product::distances_of(dims) > Product::kDistancesMax) {
    throw core::InputError(
        spec.place, fmt::format("{} different paths; expected at most {}: smaller dimensions",
                                Product::distances_of(dims), Product::kDistancesMax));
  }
  return std::make_unique<Product>(std::move(dims), spec.forwarding);
}

}  // namespace

Fabric nodes_on_a_fat_tree(NodesSpec nodes, ClosSpec tree, const std::string& name) {
  EXAWARP_CHECK(tree.rails == 1 && tree.leaves_per_device == 1, tree.rails);
  tree.leaf_spine = tree.spine_core = tree.host;
  tree.host.name = "host";
  tree.leaf_spine.name = "leaf-spine";
  tree.spine_core.name = "spine-core";
  Fabric out{.nodes = std::move(nodes),
             .place = fmt::format("fabric \"{}\"", name),
             .by_tier = true};
  out.networks.push_back({.shape = std::move(tree), .place = out.place});
  return out;
}

std::unique_ptr<Topology> make_topology(const Fabric& fabric, std::uint32_t devices) {
  EXAWARP_CHECK(!fabric.networks.empty());
  auto network = fabric.networks.size() == 1 ? make_network(fabric.networks.front(), devices)
                                             : make_product(fabric, devices);
  EXAWARP_CHECK(network->devices() == devices, network->devices(), devices);
  if (!fabric.nodes) return network;
  return std::make_unique<Nodes>(*fabric.nodes, std::move(network));
}

}  // namespace exawarp::model
