// Routers and their ports as numbers in mixed radix: each link of two groups is found from either
// end by the slot that one group has at the other.
#include "model/topology/dragonfly.h"

#include <fmt/format.h>

#include <algorithm>

namespace exawarp::model {
namespace {

constexpr std::uint8_t kHostLink = 0, kLocal = 1, kGlobal = 2;
constexpr std::uint32_t kWithGlobal = 2;  // index of the first distance with a global link

}  // namespace

Dragonfly::Dragonfly(const DragonflySpec& spec)
    : p_(spec.devices_per_router),
      a_(spec.routers),
      h_(spec.groups > 1 ? spec.global_links : 0),
      g_(spec.groups),
      pair_links_(g_ > 1 ? a_ * h_ / (g_ - 1) : 0),
      arrangement_(spec.arrangement),
      kinds_{spec.host, spec.local, spec.global},
      forwarding_(spec.latencies.forwarding) {
  EXAWARP_CHECK(p_ >= 1 && a_ >= 1 && g_ >= 1, p_, a_, g_);
  EXAWARP_CHECK(g_ == 1 || (h_ >= 1 && a_ * h_ % (g_ - 1) == 0), a_, h_, g_);
  const auto add = [&](std::uint32_t locals, std::uint32_t globals) {
    distances_.push_back(
        path_over({{kinds_[kHostLink], 2}, {kinds_[kLocal], locals}, {kinds_[kGlobal], globals}},
                  spec.latencies));
  };
  add(0, 0);
  add(1, 0);
  for (std::uint32_t locals = 0; g_ > 1 && locals <= 2; ++locals) add(locals, 1);
}

std::string Dragonfly::name() const {
  return fmt::format("dragonfly, a {} p {} h {} g {}, {}", a_, p_, h_, g_,
                     arrangement_ == GlobalLinks::absolute ? "absolute" : "relative");
}

std::uint32_t Dragonfly::ports(VertexId v) const { return is_device(v) ? 1 : p_ + a_ - 1 + h_; }

std::uint32_t Dragonfly::slot_of(std::uint32_t from, std::uint32_t to) const {
  if (arrangement_ == GlobalLinks::absolute) return to < from ? to : to - 1;
  return to > from ? to - from - 1 : to + g_ - from - 1;
}

Link Dragonfly::link(VertexId v, std::uint32_t port) const {
  EXAWARP_DCHECK(port < ports(v), v.value, port);
  const std::uint32_t router = router_of(v);
  if (is_device(v)) return {vertex_of_switch(router), v.value % p_, kHostLink};
  if (port < p_) return {{router * p_ + port}, 0, kHostLink};
  const std::uint32_t group = router / a_, r = router % a_;
  if (port < p_ + a_ - 1) {
    const std::uint32_t slot = port - p_, peer = slot < r ? slot : slot + 1;
    return {vertex_of_switch(group * a_ + peer), local_port(peer, r), kLocal};
  }
  const std::uint32_t q = r * h_ + port - (p_ + a_ - 1);
  const std::uint32_t slot = q / pair_links_, l = q % pair_links_;
  const bool absolute = arrangement_ == GlobalLinks::absolute;
  const std::uint32_t peer_group =
      absolute ? (slot < group ? slot : slot + 1) : (group + slot + 1) % g_;
  const std::uint32_t there =
      slot_of(peer_group, group) * pair_links_ + (absolute ? l : pair_links_ - 1 - l);
  return {vertex_of_switch(peer_group * a_ + there / h_), p_ + a_ - 1 + there % h_, kGlobal};
}

core::Time Dragonfly::forwarding_latency(VertexId v) const {
  return is_device(v) ? core::Time{} : forwarding_;
}

// ---- routes

// Whether `router` of a group has one of the links of `slot`.
bool Dragonfly::reaches(std::uint32_t slot, std::uint32_t router) const {
  const std::uint32_t first = slot * pair_links_, last = first + pair_links_ - 1;
  return first / h_ <= router && router <= last / h_;
}

// From a router to one of another group. `own`: the group's global ports that lead there from the
// router itself; `landing`: those that end at the destination.
PortChoices Dragonfly::towards_group(std::uint32_t at, std::uint32_t to) const {
  const std::uint32_t r = at % a_, t = to % a_;
  const std::uint32_t slot = slot_of(at / a_, to / a_), back = slot_of(to / a_, at / a_);
  const std::uint32_t first = slot * pair_links_, end = first + pair_links_;
  const std::uint32_t own_first = std::max(first, r * h_), own_end = std::min(end, (r + 1) * h_);
  std::uint32_t landing_first = first, landing_end = first;
  if (reaches(back, t)) {
    const std::uint32_t back_first = back * pair_links_;
    const std::uint32_t l_first = std::max(back_first, t * h_) - back_first;
    const std::uint32_t l_end = std::min(back_first + pair_links_, (t + 1) * h_) - back_first;
    const bool absolute = arrangement_ == GlobalLinks::absolute;
    landing_first = first + (absolute ? l_first : pair_links_ - l_end);
    landing_end = first + (absolute ? l_end : pair_links_ - l_first);
  }
  PortChoices out;
  const std::uint32_t globals = p_ + a_ - 1;
  const std::uint32_t both_first = std::max(own_first, landing_first);
  const std::uint32_t both_end = std::min(own_end, landing_end);
  if (both_first < both_end) {  // one link
    out.add(globals + both_first - r * h_, both_end - both_first);
    return out;
  }
  const bool has_own = own_first < own_end, has_landing = landing_first < landing_end;
  const auto add_routers = [&](std::uint32_t from, std::uint32_t until) {
    out.add(local_port(r, from / h_), (until - 1) / h_ - from / h_ + 1);
  };
  if (has_landing) add_routers(landing_first, landing_end);
  if (has_own) out.add(globals + own_first - r * h_, own_end - own_first);
  if (!has_landing && !has_own) add_routers(first, end);
  return out;
}

PortChoices Dragonfly::minimal(VertexId at, VertexId to) const {
  PortChoices out;
  if (at == to) return out;
  if (is_device(at)) {
    out.add(0);
    return out;
  }
  const std::uint32_t from = router_of(at), there = router_of(to);
  if (from == there) {
    out.add(to.value % p_);
  } else if (from / a_ == there / a_) {
    out.add(local_port(from % a_, there % a_));
  } else {
    return towards_group(from, there);
  }
  return out;
}

std::uint32_t Dragonfly::spread(VertexId, VertexId to) const {
  return is_device(to) ? to.value : 0;
}

Dragonfly::Route Dragonfly::route_between(std::uint32_t from, std::uint32_t to) const {
  if (from == to) return {0, 0};
  if (from / a_ == to / a_) return {1, 0};
  const PortChoices ports = towards_group(from, to);
  const std::uint32_t last = ports[ports.size() - 1];
  const bool own = last >= p_ + a_ - 1;
  const bool landing = reaches(slot_of(to / a_, from / a_), to % a_);
  if (!own) return {landing ? 1u : 2u, 1};
  const Link there = link(vertex_of_switch(from), last);
  return {there.peer == vertex_of_switch(to) ? 0u : 1u, 1};
}

MessageRoute Dragonfly::message_route(core::DeviceId a, core::DeviceId b) const {
  const Route route = route_between(a.value / p_, b.value / p_);
  const std::uint32_t index = route.globals == 0 ? route.locals : kWithGlobal + route.locals;
  return {static_cast<std::uint16_t>(index), 0, 0};
}

// Within a group, neighbours in ids are near; across, the two ends of a global link are.
core::Time Dragonfly::least_latency(std::uint32_t atom_shift) const {
  const std::uint32_t strides[] = {1, p_};
  core::Time least = nearest_by_strides(*this, atom_shift, strides);
  for (std::uint32_t router = 0; router < switches(); ++router) {
    for (std::uint32_t i = 0; i < h_; ++i) {
      const std::uint32_t peer = router_of(link(vertex_of_switch(router), p_ + a_ - 1 + i).peer);
      if (peer < router) continue;
      const bool one_atom = router * p_ >> atom_shift == ((peer + 1) * p_ - 1) >> atom_shift;
      if (!one_atom) least = std::min(least, distances_[kWithGlobal].latency);
    }
  }
  if (least != core::Time::max()) return std::max(least, core::Time{1});
  return atom_shift == 0 ? core::Time{1} : least_latency(0);
}

std::uint32_t Dragonfly::next_channel(VertexId at, std::uint32_t in_port, std::uint32_t out_port,
                                      std::uint32_t vc) const {
  if (is_device(at) || in_port < p_ || in_port == ports(at) || out_port < p_) return vc;
  const std::uint32_t globals = p_ + a_ - 1;
  const bool from_local = in_port < globals, to_local = out_port < globals;
  return from_local && !to_local ? vc : std::min(vc + 1, virtual_channels() - 1);
}

std::uint32_t Dragonfly::waypoints(core::DeviceId from, core::DeviceId to) const {
  const std::uint32_t i = from.value / p_ / a_, j = to.value / p_ / a_;
  return (g_ - (i == j ? 1 : 2)) * a_;
}

VertexId Dragonfly::waypoint(core::DeviceId from, core::DeviceId to, std::uint32_t index) const {
  const std::uint32_t i = from.value / p_ / a_, j = to.value / p_ / a_;
  return vertex_of_switch(skip_two(index / a_, i, j) * a_ + index % a_);
}

// ---- figures

// The most local links of a minimal route between two groups. Whether a router has a link of a slot
// depends on the slot alone, so pairs of slots stand for pairs of groups.
std::uint32_t Dragonfly::longest_locals() const {
  const auto uncovered = [&](std::uint32_t slot) {
    return !reaches(slot, 0) || !reaches(slot, a_ - 1);
  };
  std::uint32_t most = 0;
  for (std::uint32_t i = 0; i < g_; ++i) {
    for (std::uint32_t j = 0; j < g_; ++j) {
      if (i == j) continue;
      const std::uint32_t ends = std::uint32_t{uncovered(slot_of(i, j))} +
                                 std::uint32_t{uncovered(slot_of(j, i))};
      most = std::max(most, ends);
      for (std::uint32_t pair = 0; most == 0 && pair < a_ * a_; ++pair) {
        most = route_between(i * a_ + pair / a_, j * a_ + pair % a_).locals;
      }
      if (most == 2) return most;
    }
  }
  return most;
}

TopologyCounts Dragonfly::counts() const {
  const std::uint64_t routers = switches();
  TopologyCounts out{.switches = routers,
                     .links = devices() + routers * (a_ - 1) / 2 + routers * h_ / 2,
                     .diameter_links = a_ > 1 ? 3u : p_ > 1 ? 2u : 0u};
  if (g_ > 1) {
    out.diameter_links = std::max(out.diameter_links, 3 + longest_locals());
    const WideRate half = g_ / 2;
    out.bisection_bytes_per_s =
        half * (g_ - half) * pair_links_ * kinds_[kGlobal].bandwidth_bytes_per_s;
  } else if (a_ > 1) {
    const WideRate half = a_ / 2;
    out.bisection_bytes_per_s = half * (a_ - half) * kinds_[kLocal].bandwidth_bytes_per_s;
  } else {
    out.bisection_bytes_per_s = WideRate{p_ / 2} * kinds_[kHostLink].bandwidth_bytes_per_s;
  }
  return out;
}

}  // namespace exawarp::model
