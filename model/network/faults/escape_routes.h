// The last resort around links that are down: the shortest way that is left over any links, where
// a topology's own routes and waypoints (live_routes.h) find none.
//
// Where packets wait for room (credits, pauses), such ways go up, then down, in a virtual
// channel of their own (Schroeder et al.: "Autonet: a high-speed, self-configuring local area
// network", IEEE J. Sel. Areas Commun. 9, 1991). Vertices are put in an order by a breadth-first
// search; a link leads up where its other end comes earlier. A way never goes up again once it
// went down, so packets of that channel wait for each other without a cycle; others may enter it
// anywhere, and none ever leaves it for another channel. Any two vertices of one tree of that
// search have a way: up to the root, and down. The order is one for all times, or packets that
// set out before and behind a change could wait for each other in a circle. Its tree is made of
// links that never fail as far as these reach, so a way is missed, if ever, between parts that
// only failing links join.
//
// Where nothing waits, any link serves, and the ways are the shortest of all.
//
// Devices that do not forward (Topology::devices_forward) are ends of ways alone.
//
// Memory: tables, where topologies have functions: after failures a network is no regular one. The
// order takes 4 bytes a vertex of the whole network, and only where some link fails; distances to a
// destination 4 or 8, when they are asked for, kTableBytes a thread for all of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/network/faults/link_faults.h"
#include "model/topology/topology.h"

namespace exawarp::model {

class EscapeRoutes {
 public:
  static constexpr std::size_t kTableBytes = std::size_t{8} << 20;

  // Which ways are free of deadlock: any, where nothing waits; none, where packets wait and have
  // no channel for it.
  enum class Kind : std::uint8_t { any, up_then_down, none };
  // Both outlive this.
  EscapeRoutes(const Topology& topology, const LinkFaults& faults, Kind kind);

  // The ports on a shortest way from `at` to device `to` without a link that is down at `now`; none
  // where there is no way, and where at == to. At Time::max() every link counts as whole.
  // only_down: the way has gone down already.
  [[nodiscard]] PortChoices ports(VertexId at, bool only_down, VertexId to, core::Time now) const;
  // Whether a packet that came in by this port came down.
  [[nodiscard]] bool came_down(VertexId at, std::uint32_t in_port) const;
  [[nodiscard]] bool exists(VertexId from, VertexId to, core::Time now) const;
  [[nodiscard]] Kind kind() const { return kind_; }
  // No other object has it.
  [[nodiscard]] std::uint64_t id() const { return id_; }

 private:
  static constexpr std::uint32_t kFar = 0xffffffffu;
  // Links to `to` from each vertex: [vertex] over any way, [vertices + vertex] going down alone.
  struct Table {
    std::uint64_t owner = 0;
    VertexId to{};
    core::Time since, until;
    std::vector<std::uint32_t> links;
  };

  [[nodiscard]] std::uint32_t vertices() const {
    return topology_->devices() + topology_->switches();
  }
  [[nodiscard]] bool passes(VertexId v) const {
    return devices_forward_ || !topology_->is_device(v);
  }
  [[nodiscard]] bool leads_up(VertexId from, VertexId to) const {
    return rank_.empty() || rank_[to.value] < rank_[from.value];
  }
  [[nodiscard]] bool is_down(VertexId v, std::uint32_t port, core::Time now) const {
    return now != core::Time::max() && faults_->down(v, port, now);
  }
  void put_in_order();
  [[nodiscard]] std::span<const std::uint32_t> links_to(VertexId to, core::Time now) const;
  void search(VertexId to, core::Time now, std::vector<std::uint32_t>& links) const;

  const Topology* topology_;
  const LinkFaults* faults_;
  Kind kind_;
  bool devices_forward_;
  std::vector<std::uint32_t> rank_;  // of vertices in the order; empty: every link leads up
  std::uint64_t id_;
};

}  // namespace exawarp::model
