// The canonical dragonfly (Kim, Dally, Scott, Abts, ISCA 2008): g groups of a routers, each router
// with p devices, a link to every other router of its group, and h links to other groups.
//
//   router of a device   device / p;  group of a router: router / a
//   ports of a router    its p devices; the other routers of its group in order; h global ones
//   global port          q = (router mod a) * h + i of a group, 0 <= q < a h
//   links of two groups  L = a h / (g - 1), a whole number: a h where there are two groups, 1 where
//                        there are a h + 1. Those to one group are consecutive ports: slot
//                        s = q / L, link l = q mod L
//   absolute             slot s of group i leads to group s, or s + 1 from i on; link l to link l
//   relative             slot s of group i leads to group i + s + 1 mod g; link l to L - 1 - l
//                        (Hastings et al.: "Comparing global link arrangements for dragonfly
//                        networks", CLUSTER 2015, for L = 1)
//   halves               floor(g / 2) groups against the others, counting links between them; of a
//                        single group floor(a / 2) routers, of a single router floor(p / 2) devices
//
// Minimal: fewest global links, at most one; then fewest local ones. Two global links in a row
// could save a local one, and are no minimal route by the family's definition.
// Deadlock freedom: channels ascend in the order local 0, global 0, local 1, global 1, ...: a link
// behind a global one, and a local behind a local one, is taken in the next channel. A minimal
// route (l g l) takes 2, one with a waypoint (l g l | l g l) 4.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "core/names.h"
#include "model/topology/support.h"

namespace exawarp::model {

enum class GlobalLinks : std::uint8_t { absolute, relative };

inline constexpr core::Named<GlobalLinks> kGlobalLinksNames[] = {
    {"absolute", GlobalLinks::absolute}, {"relative", GlobalLinks::relative}};
constexpr std::span<const core::Named<GlobalLinks>> names_of(GlobalLinks) {
  return kGlobalLinksNames;
}
static_assert(core::names_each(kGlobalLinksNames));

struct DragonflySpec {
  std::uint32_t devices_per_router = 1;  // p
  std::uint32_t routers = 1;             // a, of a group
  std::uint32_t global_links = 1;        // h, of a router
  std::uint32_t groups = 1;              // g
  GlobalLinks arrangement = GlobalLinks::absolute;
  LinkKind host{}, local{}, global{};
  NodeLatencies latencies{};
};

class Dragonfly final : public Topology {
 public:
  // Requires all counts >= 1 and, for several groups, (g - 1) to divide a h.
  explicit Dragonfly(const DragonflySpec& spec);

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] std::uint32_t devices() const override { return g_ * a_ * p_; }
  [[nodiscard]] std::uint32_t switches() const override { return g_ * a_; }
  [[nodiscard]] std::span<const LinkKind> link_kinds() const override { return kinds_; }
  [[nodiscard]] std::uint32_t ports(VertexId v) const override;
  [[nodiscard]] Link link(VertexId v, std::uint32_t port) const override;
  [[nodiscard]] core::Time forwarding_latency(VertexId v) const override;
  [[nodiscard]] PortChoices minimal(VertexId at, VertexId to) const override;
  [[nodiscard]] std::uint32_t spread(VertexId at, VertexId to) const override;
  [[nodiscard]] MessageRoute message_route(core::DeviceId a, core::DeviceId b) const override;
  [[nodiscard]] std::span<const Distance> distances() const override { return distances_; }
  [[nodiscard]] core::Time least_latency(std::uint32_t atom_shift) const override;
  [[nodiscard]] std::uint32_t virtual_channels() const override { return 4; }
  [[nodiscard]] std::uint32_t next_channel(VertexId at, std::uint32_t in_port,
                                           std::uint32_t out_port,
                                           std::uint32_t vc) const override;
  // Routers of other groups than the two devices'; of the others of the group where it is one.
  [[nodiscard]] std::uint32_t waypoints(core::DeviceId from, core::DeviceId to) const override;
  [[nodiscard]] VertexId waypoint(core::DeviceId from, core::DeviceId to,
                                  std::uint32_t index) const override;
  [[nodiscard]] TopologyCounts counts() const override;

  // Links of each pair of groups.
  [[nodiscard]] std::uint32_t links_of_a_pair() const { return pair_links_; }

 private:
  struct Routers {
    std::uint32_t first, last;  // of a group
  };
  struct Route {
    std::uint32_t locals, globals;
  };
  [[nodiscard]] std::uint32_t router_of(VertexId v) const {
    return is_device(v) ? v.value / p_ : v.value - devices();
  }
  [[nodiscard]] std::uint32_t local_port(std::uint32_t at, std::uint32_t to) const {
    return p_ + (to < at ? to : to - 1);
  }
  // The slot of group `from`'s global ports that leads to group `to`.
  [[nodiscard]] std::uint32_t slot_of(std::uint32_t from, std::uint32_t to) const;
  [[nodiscard]] bool reaches(std::uint32_t slot, std::uint32_t router) const;
  [[nodiscard]] PortChoices towards_group(std::uint32_t at, std::uint32_t to) const;
  [[nodiscard]] Route route_between(std::uint32_t from, std::uint32_t to) const;
  [[nodiscard]] std::uint32_t longest_locals() const;

  std::uint32_t p_, a_, h_, g_;
  std::uint32_t pair_links_;
  GlobalLinks arrangement_;
  std::array<LinkKind, 3> kinds_;  // host, local, global
  core::Time forwarding_;
  std::vector<Distance> distances_;  // no global link with 0, 1 locals; one with 0, 1, 2
};

}  // namespace exawarp::model
