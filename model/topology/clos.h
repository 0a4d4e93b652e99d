// Folded Clos networks: leaf-spine and three-tier fat trees, with free widths, oversubscription,
// bundles of parallel links, partly filled leaves and pods, several leaves a device (dual
// top-of-rack), and a leaf set of its own for each local rank (rails).
//
// Al-Fares, Loukissas, Vahdat: "A scalable, commodity data center network architecture", SIGCOMM
// 2008. Rails: Wang et al.: "Rail-only: a low-cost high-performance network for training LLMs with
// trillion parameters", HotI 2024. Dual top-of-rack: Qian et al.: "Alibaba HPN", SIGCOMM 2024.
//
//   unit of a device     d / rails (its node, where there are rails)
//   group of a device    block * rails + rail, block = unit / devices_per_leaf;
//                        where rails are apart: rail * blocks + block
//   leaves               groups * leaves_per_device; a device hangs below each leaf of its group
//   pods                 groups_per_pod groups each, the last with what is left
//   spines               spines_per_pod a pod, one link bundle to each leaf of the pod;
//                        none where no pod has two groups and there is no core
//   cores                core c has a bundle to spine (c mod spines_per_pod) of each pod;
//                        cores = 0: spines_per_pod * groups_per_pod, none where there is one pod or
//                        rails are apart (then devices of different rails have no path)
//
// Switch indices: leaves, then spines, then cores. Ports: a device's lead to its leaves in order;
// a leaf's down to its devices, then up, spine by spine; a spine's down, leaf by leaf, then up,
// core by core; a core's pod by pod.
//
// Minimal: fewest links; devices do not forward. Deadlock freedom: up, then down: no cycle, one
// channel. Halves: floor(pods / 2) pods, or floor(blocks / 2) blocks of leaves where there is one
// pod (of each rail, where apart), or floor(units / 2) units where there is one block, against the
// others. The figure is the smaller side's capacity through leaves, spines and cores.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/topology/layout.h"
#include "model/topology/support.h"

namespace exawarp::model {

struct ClosSpec {
  std::uint32_t devices_per_leaf = 1;
  std::uint32_t groups_per_pod = 0;  // groups of leaves; 0: all, one pod
  std::uint32_t spines_per_pod = 0;
  std::uint32_t cores = 0;  // 0: one for each up-link of a full pod's spine groups
  std::uint32_t leaves_per_device = 1;
  std::uint32_t leaf_bundle = 1;   // links of a leaf to each of its spines
  std::uint32_t spine_bundle = 1;  // links of a spine to each of its cores
  std::uint32_t rails = 1;
  bool rails_apart = false;  // each rail its own network (rail-only)
  LinkKind host{}, leaf_spine{}, spine_core{};
  NodeLatencies latencies{};
};

// The path between two devices whose smallest common part is `tier`, of one network of rails: 1, 3
// or 5 switches, 2 links more for each tier. Requires tier != node.
Distance path_over_tier(const ClosSpec& spec, Tier tier);

class Clos final : public Topology {
 public:
  // Requires devices, devices_per_leaf, bundles, leaves_per_device, rails >= 1, whole units, and
  // spines where there are several groups.
  Clos(const ClosSpec& spec, std::uint32_t devices);

  // Of its units and groups: devices and leaves, where there are no rails and one leaf a device.
  [[nodiscard]] const LeafLayout& layout() const { return layout_; }
  [[nodiscard]] std::uint32_t leaves() const { return groups_ * tors_; }
  [[nodiscard]] std::uint32_t spines() const { return spines_ == 0 ? 0 : pods_ * spines_; }
  [[nodiscard]] std::uint32_t cores() const { return cores_; }
  [[nodiscard]] std::uint32_t pods() const { return pods_; }

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] std::uint32_t devices() const override { return devices_; }
  [[nodiscard]] std::uint32_t switches() const override { return leaves() + spines() + cores_; }
  [[nodiscard]] std::span<const LinkKind> link_kinds() const override { return kinds_; }
  [[nodiscard]] std::uint32_t ports(VertexId v) const override;
  [[nodiscard]] Link link(VertexId v, std::uint32_t port) const override;
  [[nodiscard]] core::Time forwarding_latency(VertexId v) const override;
  [[nodiscard]] PortChoices minimal(VertexId at, VertexId to) const override;
  [[nodiscard]] std::uint32_t spread(VertexId at, VertexId to) const override;
  [[nodiscard]] MessageRoute message_route(core::DeviceId a, core::DeviceId b) const override;
  [[nodiscard]] std::span<const Distance> distances() const override { return distances_; }
  [[nodiscard]] core::Time least_latency(std::uint32_t atom_shift) const override;
  [[nodiscard]] std::uint32_t virtual_channels() const override { return 1; }
  [[nodiscard]] std::uint32_t next_channel(VertexId, std::uint32_t, std::uint32_t,
                                           std::uint32_t) const override {
    return 0;
  }
  [[nodiscard]] std::uint32_t waypoints(core::DeviceId, core::DeviceId) const override { return 0; }
  [[nodiscard]] VertexId waypoint(core::DeviceId, core::DeviceId to, std::uint32_t) const override {
    return {to.value};
  }
  [[nodiscard]] TopologyCounts counts() const override;

 private:
  enum class Stage : std::uint8_t { device, leaf, spine, core };
  struct Place {
    Stage stage;
    std::uint32_t index;  // within its stage
  };

  [[nodiscard]] Place place_of(VertexId v) const;
  [[nodiscard]] std::uint32_t group_of(std::uint32_t device) const;
  [[nodiscard]] std::uint32_t slot_of(std::uint32_t device) const {
    return layout_.place_below_leaf({device / rails_});
  }
  [[nodiscard]] std::uint32_t device_at(std::uint32_t group, std::uint32_t slot) const;
  [[nodiscard]] std::uint32_t block_of(std::uint32_t group) const {
    return apart_ ? group % blocks_ : group / rails_;
  }
  [[nodiscard]] std::uint32_t devices_of(std::uint32_t group) const;
  [[nodiscard]] std::uint32_t groups_of(std::uint32_t pod) const;
  // Cores above spine j of a pod: j, j + spines, ...
  [[nodiscard]] std::uint32_t cores_above(std::uint32_t j) const {
    return j < cores_ ? (cores_ - j - 1) / spines_ + 1 : 0;
  }
  [[nodiscard]] VertexId leaf(std::uint32_t i) const { return {devices_ + i}; }
  [[nodiscard]] VertexId spine(std::uint32_t i) const { return {devices_ + leaves() + i}; }
  [[nodiscard]] VertexId core(std::uint32_t i) const {
    return {devices_ + leaves() + spines() + i};
  }
  [[nodiscard]] Link leaf_link(std::uint32_t index, std::uint32_t port) const;
  [[nodiscard]] Link spine_link(std::uint32_t index, std::uint32_t port) const;
  void list_distances(const ClosSpec& spec);
  [[nodiscard]] WideRate pod_capacity(std::uint32_t first_group, std::uint32_t groups,
                                      bool through_cores) const;
  [[nodiscard]] WideRate bisection() const;

  std::uint32_t devices_, tors_, rails_, leaf_bundle_, spine_bundle_;
  bool apart_;
  std::uint32_t units_, blocks_, groups_;
  LeafLayout layout_;
  std::uint32_t pods_;
  std::uint32_t spines_ = 0;  // of a pod
  std::uint32_t cores_ = 0;
  std::vector<LinkKind> kinds_;
  core::Time forwarding_;
  std::vector<Distance> distances_;
  std::array<std::uint16_t, kTierCount> distance_of_tier_{};
};

}  // namespace exawarp::model
