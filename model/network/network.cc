#include "model/network/network.h"

#include <fmt/core.h>

#include <string>

#include "core/error.h"

namespace exawarp::model {
namespace {

constexpr core::Time kLatencyMax{core::kPicosecondsPerSecond};  // 1 s: far beyond any fabric

void require(bool condition, const std::string& fabric, const char* what) {
  if (!condition) throw core::InputError(fmt::format("fabric \"{}\": {}", fabric, what));
}

bool is_latency(core::Time t) { return t >= core::Time{0} && t <= kLatencyMax; }

const Fabric& checked(const Fabric& fabric) {
  const NodeFabric& n = fabric.node;
  require(n.devices >= 1, n.name, "devices per node: 0; expected at least 1");
  require(n.bandwidth_bytes_per_s > 0, n.name, "bandwidth: not above 0 B/s");
  require(is_latency(n.latency) && n.latency.ps > 0, n.name,
          "latency: out of range; expected 1 ps to 1 s");
  const ScaleOutFabric& s = fabric.scale_out;
  require(s.bandwidth_bytes_per_s > 0, s.name, "bandwidth: not above 0 B/s");
  require(is_latency(s.endpoint_latency) && is_latency(s.switch_latency) &&
              is_latency(s.link_latency),
          s.name, "latency: out of range; expected 0 to 1 s each");
  require((s.endpoint_latency + s.switch_latency + s.link_latency).ps > 0, s.name,
          "latency: 0 in all; expected an endpoint, switch or link latency of at least 1 ps");
  require(s.devices_per_leaf >= 1, s.name, "devices per leaf: 0; expected at least 1");
  require(s.leaves_per_pod >= 1, s.name, "leaves per pod: 0; expected at least 1");
  constexpr std::uint32_t kWidthMax = 1u << 12;
  require(s.leaves_per_pod <= kWidthMax && s.spines_per_pod <= kWidthMax &&
              s.cores <= kWidthMax * kWidthMax,
          s.name, "more than 4096 leaves or spines per pod, or 2^24 cores");
  return fabric;
}

}  // namespace

Network::Network(const Fabric& fabric, std::uint32_t devices)
    : layout_(checked(fabric).node.devices),
      tree_(fabric.scale_out, devices),
      devices_(devices),
      devices_per_leaf_(fabric.scale_out.devices_per_leaf),
      leaves_per_pod_(fabric.scale_out.leaves_per_pod),
      latency_{fabric.node.latency},
      bandwidth_bytes_per_s_{fabric.node.bandwidth_bytes_per_s,
                             fabric.scale_out.bandwidth_bytes_per_s} {
  for (const Tier tier : {Tier::leaf, Tier::pod, Tier::core}) {
    const Path path = FatTree::path(tier);
    latency_[static_cast<std::size_t>(tier)] = fabric.scale_out.endpoint_latency +
                                               path.switches * fabric.scale_out.switch_latency +
                                               path.links * fabric.scale_out.link_latency;
  }
}

core::Time Network::least_latency_between_atoms() const {
  const bool node_is_split = layout_.devices() > 1 && layout_.atom_shift() == 0;
  const core::Time across = devices_per_leaf_ > layout_.devices() ? latency(Tier::leaf)
                            : leaves_per_pod_ > 1                 ? latency(Tier::pod)
                                                                  : latency(Tier::core);
  if (devices_ <= layout_.devices()) return layout_.devices() > 1 ? latency(Tier::node) : across;
  return node_is_split ? std::min(latency(Tier::node), across) : across;
}

}  // namespace exawarp::model
