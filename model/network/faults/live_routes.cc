// Which ports lead on around what is down: a search down the minimal paths, then among waypoints.
// Both are long and asked for again and again, so each thread remembers the last answers.
#include "model/network/faults/live_routes.h"

#include <array>
#include <vector>

#include "core/check.h"
#include "core/random.h"
#include "model/network/packet/routing.h"

namespace exawarp::model {
namespace {

using core::DeviceId;
using core::Time;

// Who talks to whom repeats, and a search may look at every waypoint: each thread remembers the
// last answers. They are pure functions of what is the key here, so this changes none.
struct RememberedPorts {
  std::uint64_t routes = 0;  // EscapeRoutes::id()
  VertexId at{}, to{};
  Way way{};
  Time since, until;  // the next change
  PortChoices ports;
};
constexpr std::size_t kRememberedPorts = 1u << 12;

RememberedPorts& ports_place_of(VertexId at, VertexId to) {
  thread_local std::vector<RememberedPorts> memory(kRememberedPorts);
  return memory[core::stream_of(at.value, to.value) % kRememberedPorts];
}

struct Remembered {
  std::uint64_t routes = 0;  // EscapeRoutes::id()
  VertexId at{}, from{}, to{}, waypoint{};
  Time until;  // the next change
  Time since;
};
constexpr std::size_t kRemembered = 1u << 10;

Remembered& place_of(VertexId at, DeviceId to) {
  thread_local std::array<Remembered, kRemembered> memory{};
  return memory[core::stream_of(at.value, to.value) % kRemembered];
}

}  // namespace

LiveRoutes::LiveRoutes(const Topology& topology, const LinkFaults& faults, EscapeRoutes::Kind kind)
    : topology_(&topology),
      faults_(&faults),
      first_port_only_(kind != EscapeRoutes::Kind::any && !topology.every_port_is_safe()),
      escape_routes_(topology, faults, kind) {}

bool LiveRoutes::reaches(VertexId at, VertexId to, Way way, Time now) const {
  std::uint32_t looks = 0;
  return look(at, to, way, now, looks);
}

bool LiveRoutes::look(VertexId at, VertexId to, Way way, Time now, std::uint32_t& looks) const {
  if (at == to) return true;
  const PortChoices choices = topology_->towards(at, to, way);
  for (const PortChoices::Range range : choices.ranges()) {
    for (std::uint32_t port = range.first; port < range.first + range.count; ++port) {
      if (looks++ == kLooksMax) return false;
      if (!faults_->down(at, port, now) &&
          look(topology_->link(at, port).peer, to, Way::goes_on, now, looks)) {
        return true;
      }
      if (first_port_only_ || looks > kLooksMax) return false;
    }
  }
  return false;
}

PortChoices LiveRoutes::ports(VertexId at, VertexId to, Way way, Time now) const {
  if (!faults_->any_down(now)) return topology_->towards(at, to, way);
  RememberedPorts& known = ports_place_of(at, to);
  const bool fits = known.routes == escape_routes_.id() && known.at == at && known.to == to &&
                    known.way == way && now >= known.since && now < known.until;
  if (!fits) {
    known = {.routes = escape_routes_.id(),
             .at = at,
             .to = to,
             .way = way,
             .since = now,
             .until = faults_->next_change(now),
             .ports = live_ports(at, to, way, now)};
  }
  return known.ports;
}

PortChoices LiveRoutes::live_ports(VertexId at, VertexId to, Way way, Time now) const {
  const PortChoices choices = topology_->towards(at, to, way);
  PortChoices live;
  for (const PortChoices::Range range : choices.ranges()) {
    for (std::uint32_t port = range.first; port < range.first + range.count; ++port) {
      const bool whole = !faults_->down(at, port, now) &&
                         reaches(topology_->link(at, port).peer, to, Way::goes_on, now);
      if (whole && !live.add_if_room(port)) return live;
      if (first_port_only_) return live;
    }
  }
  return live;
}

std::optional<VertexId> LiveRoutes::detour(VertexId at, DeviceId from, DeviceId to,
                                           Time now) const {
  Remembered& known = place_of(at, to);
  const bool fits = known.routes == escape_routes_.id() && known.at == at &&
                    known.from.value == from.value && known.to.value == to.value &&
                    now >= known.since && now < known.until;
  if (!fits) {
    known = {.routes = escape_routes_.id(),
             .at = at,
             .from = {from.value},
             .to = {to.value},
             .waypoint = search(at, from, to, now),
             .until = faults_->next_change(now),
             .since = now};
  }
  EXAWARP_DCHECK(known.waypoint != at, at.value, known.waypoint.value);
  if (known.waypoint.value == to.value) return std::nullopt;
  return known.waypoint;
}

std::uint32_t LiveRoutes::links(VertexId from, VertexId to) const {
  if (from == to) return 0;
  if (!topology_->is_device(from) || !topology_->is_device(to)) {
    return links_between(*topology_, from, to);
  }
  return topology_->distances()[topology_->message_route({from.value}, {to.value}).distance].links;
}

// The best waypoint, or `to` where none makes a way.
VertexId LiveRoutes::search(VertexId at, DeviceId from, DeviceId to, Time now) const {
  const VertexId end{to.value};
  VertexId best = end;
  const Way way = at.value == from.value ? Way::begins : Way::goes_on;
  std::uint32_t least = ~std::uint32_t{0};
  const auto consider = [&](VertexId w) {
    if (w == at || w == end) return;
    const std::uint32_t length = links(at, w) + links(w, end);
    if (length >= least) return;
    if (!reaches(at, w, way, now) || !reaches(w, end, Way::goes_on, now)) return;
    least = length;
    best = w;
  };
  const std::uint32_t count = topology_->waypoints(from, to);
  if (count == 0) return end;
  const bool direct = topology_->is_device(topology_->waypoint(from, to, 0));
  for (std::uint32_t p = 0; direct && p < topology_->ports(at); ++p) {
    const VertexId next = topology_->link(at, p).peer;
    if (topology_->is_device(next) && next.value != from.value) consider(next);
  }
  if (best != end) return best;
  for (std::uint32_t i = 0; i < count; ++i) consider(topology_->waypoint(from, to, i));
  return best;
}

bool LiveRoutes::connected(DeviceId from, DeviceId to, Time now) const {
  const VertexId at{from.value}, end{to.value};
  if (!faults_->any_down(now) || reaches(at, end, Way::begins, now)) return true;
  return detour(at, from, to, now).has_value() || escape_routes_.exists(at, end, now);
}

Time LiveRoutes::connected_from(DeviceId from, DeviceId to, Time now) const {
  for (Time at = now; at != Time::max(); at = faults_->next_change(at)) {
    if (connected(from, to, at)) return at;
  }
  return Time::max();
}

}  // namespace exawarp::model
