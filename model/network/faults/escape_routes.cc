// Breadth-first searches: one puts all vertices in an order, in which ways go up and then down, and
// one from each destination that is asked for fills a table of distances, which a thread keeps.
#include "model/network/faults/escape_routes.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "core/check.h"

namespace exawarp::model {
namespace {

using core::Time;

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;  // only has to differ: no partner
}

}  // namespace

EscapeRoutes::EscapeRoutes(const Topology& topology, const LinkFaults& faults, Kind kind)
    : topology_(&topology),
      faults_(&faults),
      kind_(kind),
      devices_forward_(topology.devices_forward()),
      id_(next_id()) {
  if (kind == Kind::up_then_down && faults.any_failure()) put_in_order();
}

// Breadth first from the last vertex, which is a core where there are tiers: over links that never
// fail as far as these reach, then over one that fails for a while, then over one that fails for
// ever, then from the last vertex not reached. Devices that do not forward come last: to them
// everything leads down, from them up.
void EscapeRoutes::put_in_order() {
  enum Health : std::uint8_t { sound, fails_for_a_while, fails_for_ever };
  const auto health_of = [&](VertexId v, std::uint32_t port) {
    if (faults_->down_from(v, port, Time{0}) == Time::max()) return sound;
    const Time last{Time::max().ps - 1};
    return faults_->down(v, port, last) ? fails_for_ever : fails_for_a_while;
  };
  const std::uint32_t count = vertices();
  rank_.assign(count, kFar);
  std::vector<VertexId> reached;
  const auto reach = [&](VertexId v) {
    rank_[v.value] = static_cast<std::uint32_t>(reached.size());
    reached.push_back(v);
  };
  // Over all sound links of v, or one that fails. Whether there may be more.
  const auto expand = [&](VertexId v, Health health) {
    for (std::uint32_t p = 0; p < topology_->ports(v); ++p) {
      const VertexId peer = topology_->link(v, p).peer;
      if (rank_[peer.value] != kFar || !passes(peer) || health_of(v, p) != health) continue;
      reach(peer);
      if (health != sound) return true;
    }
    return false;
  };
  std::array<std::size_t, 3> expanded{};  // of `reached`, over each kind
  for (std::uint32_t root = count; root-- > 0;) {
    if (rank_[root] != kFar || !passes({root})) continue;
    reach({root});
    for (Health over = sound; expanded[over] < reached.size() || over != fails_for_ever;) {
      if (expanded[over] == reached.size()) {
        over = static_cast<Health>(over + 1);
      } else if (expand(reached[expanded[over]], over)) {
        over = sound;
      } else {
        ++expanded[over];
      }
    }
  }
  for (std::uint32_t v = 0; v < count; ++v) {
    EXAWARP_CHECK((rank_[v] != kFar) == passes({v}), v);
  }
}

bool EscapeRoutes::came_down(VertexId at, std::uint32_t in_port) const {
  EXAWARP_DCHECK(in_port < topology_->ports(at), at.value, in_port);
  return !rank_.empty() && !leads_up(topology_->link(at, in_port).peer, at);
}

// Breadth first from `to`, against the ways' direction. A way that may go up is one that goes down
// from here, or that goes up one link and on.
void EscapeRoutes::search(VertexId to, Time now, std::vector<std::uint32_t>& links) const {
  const std::uint32_t count = vertices();
  const bool ordered = !rank_.empty();
  links.assign(ordered ? 2 * std::size_t{count} : count, kFar);
  std::vector<std::uint32_t> queue;  // as `links` is indexed
  const auto reach = [&](std::uint32_t index, std::uint32_t length) {
    if (links[index] != kFar) return;
    links[index] = length;
    queue.push_back(index);
  };
  if (ordered) reach(count + to.value, 0);
  reach(to.value, 0);
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const bool down = queue[next] >= count;
    const VertexId v{down ? queue[next] - count : queue[next]};
    if (v != to && !passes(v)) continue;
    const std::uint32_t length = links[queue[next]] + 1;
    for (std::uint32_t p = 0; p < topology_->ports(v); ++p) {
      const VertexId before = topology_->link(v, p).peer;
      if (leads_up(before, v) == down || is_down(v, p, now)) continue;
      if (down) reach(count + before.value, length);
      reach(before.value, length);
    }
  }
}

// Each thread keeps the tables of the last destinations that were asked for. They are a pure
// function of what is the key here, so this changes no answer.
std::span<const std::uint32_t> EscapeRoutes::links_to(VertexId to, Time now) const {
  thread_local std::vector<Table> tables;
  const std::size_t bytes = vertices() * (rank_.empty() ? 4 : 8);
  const std::size_t places = std::clamp<std::size_t>(kTableBytes / bytes, 1, 1024);
  if (tables.size() < places) tables.resize(places);
  Table& known = tables[to.value % places];
  const bool fits = known.owner == id_ && known.to == to && now >= known.since &&
                    (now < known.until || known.since == Time::max());
  if (!fits) {
    search(to, now, known.links);
    known.owner = id_;
    known.to = to;
    known.since = now;
    known.until = faults_->next_change(now);
  }
  return known.links;
}

PortChoices EscapeRoutes::ports(VertexId at, bool only_down, VertexId to, Time now) const {
  PortChoices out;
  if (at == to || kind_ == Kind::none) return out;
  const std::span<const std::uint32_t> links = links_to(to, now);
  const std::uint32_t count = vertices();
  const std::uint32_t here = links[only_down ? count + at.value : at.value];
  if (here == kFar) return out;
  EXAWARP_DCHECK(here != 0, at.value, to.value);
  for (std::uint32_t p = 0; p < topology_->ports(at); ++p) {
    const VertexId peer = topology_->link(at, p).peer;
    const bool up = leads_up(at, peer);
    if ((only_down && up) || (peer != to && !passes(peer))) continue;
    if (links[up ? peer.value : count + peer.value] != here - 1 || is_down(at, p, now)) continue;
    if (!out.add_if_room(p)) break;
  }
  return out;
}

bool EscapeRoutes::exists(VertexId from, VertexId to, Time now) const {
  return kind_ != Kind::none && links_to(to, now)[from.value] != kFar;
}

}  // namespace exawarp::model
