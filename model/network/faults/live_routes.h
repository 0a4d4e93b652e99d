// Ways around links that are down: pure functions of ids, of the list of faults and of time.
//
//   ports        the minimal ports behind which a minimal path without a link that is down goes on
//   detour       where there is none: the waypoint that makes the shortest way of two such paths
//   escape_routes  where there is none either: over any links that are left (escape_routes.h)
//
// What keeps a topology's routes free of deadlock (topology.h, next_channel) keeps the first two;
// the third has a channel of its own.
//
// Every vertex knows of every link that is down, at once: what routing protocols take to learn it
// is not modelled.
//
// Cost: where no link is down, that of Topology::minimal(); else a look down the minimal paths, at
// most kLooksMax links for each port. A detour looks at neighbours first, then at all waypoints.
// Each thread remembers the last answers of both.
#pragma once

#include <cstdint>
#include <optional>

#include "model/network/faults/escape_routes.h"
#include "model/network/faults/link_faults.h"
#include "model/topology/topology.h"

namespace exawarp::model {

class LiveRoutes {
 public:
  // Beyond this a path counts as blocked: only where most ways to a vertex are.
  static constexpr std::uint32_t kLooksMax = 1u << 14;

  // Unless any way is free of deadlock, packets keep to the first minimal port of each leg where
  // not every one is safe (Topology::every_port_is_safe()). Both outlive this.
  LiveRoutes(const Topology& topology, const LinkFaults& faults, EscapeRoutes::Kind kind);

  [[nodiscard]] PortChoices ports(VertexId at, VertexId to, Way way, core::Time now) const;
  // `from` is the device that the route began at; `at` where it is now.
  [[nodiscard]] std::optional<VertexId> detour(VertexId at, core::DeviceId from, core::DeviceId to,
                                               core::Time now) const;
  [[nodiscard]] const EscapeRoutes& escape_routes() const { return escape_routes_; }
  // Whether there is a way of any kind.
  [[nodiscard]] bool connected(core::DeviceId from, core::DeviceId to, core::Time now) const;
  // The first instant from `now` on at which there is one; Time::max(): never again.
  [[nodiscard]] core::Time connected_from(core::DeviceId from, core::DeviceId to,
                                          core::Time now) const;
  [[nodiscard]] const LinkFaults& faults() const { return *faults_; }

 private:
  [[nodiscard]] PortChoices live_ports(VertexId at, VertexId to, Way way, core::Time now) const;
  [[nodiscard]] bool reaches(VertexId at, VertexId to, Way way, core::Time now) const;
  [[nodiscard]] bool look(VertexId at, VertexId to, Way way, core::Time now,
                          std::uint32_t& looks) const;
  [[nodiscard]] VertexId search(VertexId at, core::DeviceId from, core::DeviceId to,
                                core::Time now) const;
  [[nodiscard]] std::uint32_t links(VertexId from, VertexId to) const;

  const Topology* topology_;
  const LinkFaults* faults_;
  bool first_port_only_;
  EscapeRoutes escape_routes_;
};

}  // namespace exawarp::model
