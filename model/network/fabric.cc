#include "model/network/fabric.h"

#include <fmt/format.h>

namespace exawarp::model {
namespace {

TopologySpec nodes_on_a_fat_tree(const Fabric& fabric) {
  const ScaleOutFabric& s = fabric.scale_out;
  ClosSpec tree{.devices_per_leaf = s.devices_per_leaf,
                .groups_per_pod = s.leaves_per_pod,
                .spines_per_pod = s.spines_per_pod,
                .cores = s.cores,
                .host = {"host", s.bandwidth_bytes_per_s, s.link_latency},
                .leaf_spine = {"leaf-spine", s.bandwidth_bytes_per_s, s.link_latency},
                .spine_core = {"spine-core", s.bandwidth_bytes_per_s, s.link_latency},
                .latencies = {s.switch_latency, s.endpoint_latency}};
  TopologySpec out;
  out.place = fmt::format("fabric \"{}\"", s.name);
  out.networks.push_back({.shape = std::move(tree), .planes = 1, .place = out.place});
  out.nodes = nodes_spec(fabric.node);
  return out;
}

}  // namespace

NodesSpec nodes_spec(const NodeFabric& node) {
  const core::Time half{node.latency.ps / 2};
  return {.devices = node.devices,
          .planes = node.planes,
          .link = {"nvlink", node.bandwidth_bytes_per_s / node.planes, half},
          .latencies = {.forwarding = node.latency - 2 * half, .endpoint = {}}};
}

std::unique_ptr<Topology> make_topology(const Fabric& fabric, std::uint32_t devices) {
  return make_topology(fabric.topology ? *fabric.topology : nodes_on_a_fat_tree(fabric), devices);
}

}  // namespace exawarp::model
