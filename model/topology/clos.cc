// A folded Clos network in five numbers: the id of a device gives its leaf, its pod and the ports
// on both ends of every wire by divisions; minimal routes go up to the first switch above both ends
// and down again.
#include "model/topology/clos.h"

#include <fmt/format.h>

#include <algorithm>

namespace exawarp::model {
namespace {

constexpr std::uint8_t kHost = 0, kLeafSpine = 1, kSpineCore = 2;

const ClosSpec& checked(const ClosSpec& spec, std::uint32_t devices) {
  EXAWARP_CHECK(devices >= 1 && spec.rails >= 1 && devices % spec.rails == 0, devices, spec.rails);
  EXAWARP_CHECK(spec.devices_per_leaf >= 1 && spec.leaves_per_device >= 1);
  EXAWARP_CHECK(spec.leaf_bundle >= 1 && spec.spine_bundle >= 1);
  return spec;
}

}  // namespace

Clos::Clos(const ClosSpec& spec, std::uint32_t devices)
    : devices_(devices),
      tors_(checked(spec, devices).leaves_per_device),
      rails_(spec.rails),
      leaf_bundle_(spec.leaf_bundle),
      spine_bundle_(spec.spine_bundle),
      apart_(spec.rails_apart),
      units_(devices / rails_),
      blocks_(ceil_div(units_, spec.devices_per_leaf)),
      groups_(blocks_ * rails_),
      layout_(spec.devices_per_leaf, apart_                     ? blocks_
                                     : spec.groups_per_pod == 0 ? groups_
                                                                : spec.groups_per_pod),
      pods_(ceil_div(groups_, layout_.leaves())),
      forwarding_(spec.latencies.forwarding) {
  if (groups_ > 1 && (!apart_ || blocks_ > 1)) {
    spines_ = spec.spines_per_pod;
    EXAWARP_CHECK(spines_ >= 1, groups_);
    if (pods_ > 1 && !apart_) {
      cores_ = spec.cores != 0 ? spec.cores : spines_ * layout_.leaves();
    }
  }
  kinds_.push_back(spec.host);
  if (spines_ != 0) kinds_.push_back(spec.leaf_spine);
  if (cores_ != 0) kinds_.push_back(spec.spine_core);
  list_distances(spec);
}

Distance path_over_tier(const ClosSpec& spec, Tier tier) {
  EXAWARP_CHECK(tier != Tier::node);
  return path_over({{spec.host, 2},
                    {spec.leaf_spine, tier >= Tier::pod ? 2u : 0u},
                    {spec.spine_core, tier == Tier::core ? 2u : 0u}},
                   spec.latencies);
}

// Only those that some pair of devices has.
void Clos::list_distances(const ClosSpec& spec) {
  const auto add = [&](Tier tier) {
    distance_of_tier_[static_cast<std::size_t>(tier)] =
        static_cast<std::uint16_t>(distances_.size());
    distances_.push_back(path_over_tier(spec, tier));
  };
  if (std::min(units_, layout_.devices()) > 1) add(Tier::leaf);
  if (spines_ != 0 && layout_.leaves() > 1) add(Tier::pod);
  if (cores_ != 0) add(Tier::core);
}

std::string Clos::name() const {
  const char* kind =
      spines_ == 0 ? "leaf switches" : cores_ == 0 ? "leaf-spine" : "fat tree of 3 tiers";
  std::string out =
      fmt::format("{}: {} {}", kind, leaves(), leaves() == 1 ? "leaf" : "leaves");
  if (spines_ != 0) out += fmt::format(", {} spines", spines());
  if (cores_ != 0) out += fmt::format(", {} cores", cores_);
  if (rails_ > 1) out += fmt::format(", {} rails{}", rails_, apart_ ? " apart" : "");
  return out;
}

// ---- ids

Clos::Place Clos::place_of(VertexId v) const {
  EXAWARP_DCHECK(v.value < devices_ + switches(), v.value);
  if (v.value < devices_) return {Stage::device, v.value};
  std::uint32_t s = v.value - devices_;
  if (s < leaves()) return {Stage::leaf, s};
  s -= leaves();
  if (s < spines()) return {Stage::spine, s};
  return {Stage::core, s - spines()};
}

std::uint32_t Clos::group_of(std::uint32_t device) const {
  if (rails_ == 1) return layout_.leaf_of({device});
  const std::uint32_t block = layout_.leaf_of({device / rails_}), rail = device % rails_;
  return apart_ ? rail * blocks_ + block : block * rails_ + rail;
}

std::uint32_t Clos::device_at(std::uint32_t group, std::uint32_t slot) const {
  const std::uint32_t rail = apart_ ? group / blocks_ : group % rails_;
  return (block_of(group) * layout_.devices() + slot) * rails_ + rail;
}

std::uint32_t Clos::devices_of(std::uint32_t group) const {
  return std::min(layout_.devices(), units_ - block_of(group) * layout_.devices());
}

std::uint32_t Clos::groups_of(std::uint32_t pod) const {
  return std::min(layout_.leaves(), groups_ - pod * layout_.leaves());
}

// ---- wires

std::uint32_t Clos::ports(VertexId v) const {
  const Place at = place_of(v);
  switch (at.stage) {
    case Stage::device: return tors_;
    case Stage::leaf: return devices_of(at.index / tors_) + spines_ * leaf_bundle_;
    case Stage::spine:
      return groups_of(at.index / spines_) * tors_ * leaf_bundle_ +
             cores_above(at.index % spines_) * spine_bundle_;
    case Stage::core: break;
  }
  return pods_ * spine_bundle_;
}

Link Clos::leaf_link(std::uint32_t index, std::uint32_t port) const {
  const std::uint32_t group = index / tors_, below = devices_of(group);
  if (port < below) return {{device_at(group, port)}, index % tors_, kHost};
  const std::uint32_t up = port - below, pod = layout_.pod_of_leaf(group);
  const std::uint32_t leaf_in_pod = index - pod * layout_.leaves() * tors_;
  return {spine(pod * spines_ + up / leaf_bundle_),
          leaf_in_pod * leaf_bundle_ + up % leaf_bundle_, kLeafSpine};
}

Link Clos::spine_link(std::uint32_t index, std::uint32_t port) const {
  const std::uint32_t pod = index / spines_, j = index % spines_;
  const std::uint32_t below = groups_of(pod) * tors_ * leaf_bundle_;
  if (port < below) {
    const std::uint32_t at = pod * layout_.leaves() * tors_ + port / leaf_bundle_;
    return {leaf(at), devices_of(at / tors_) + j * leaf_bundle_ + port % leaf_bundle_, kLeafSpine};
  }
  const std::uint32_t up = port - below;
  return {core(up / spine_bundle_ * spines_ + j), pod * spine_bundle_ + up % spine_bundle_,
          kSpineCore};
}

Link Clos::link(VertexId v, std::uint32_t port) const {
  EXAWARP_DCHECK(port < ports(v), v.value, port);
  const Place at = place_of(v);
  switch (at.stage) {
    case Stage::device: return {leaf(group_of(at.index) * tors_ + port), slot_of(at.index), kHost};
    case Stage::leaf: return leaf_link(at.index, port);
    case Stage::spine: return spine_link(at.index, port);
    case Stage::core: break;
  }
  const std::uint32_t pod = port / spine_bundle_;
  return {spine(pod * spines_ + at.index % spines_),
          groups_of(pod) * tors_ * leaf_bundle_ + at.index / spines_ * spine_bundle_ +
              port % spine_bundle_,
          kSpineCore};
}

core::Time Clos::forwarding_latency(VertexId v) const {
  return is_device(v) ? core::Time{} : forwarding_;
}

// ---- routes

PortChoices Clos::minimal(VertexId from, VertexId to) const {
  PortChoices out;
  if (from == to) return out;
  const Place at = place_of(from);
  const std::uint32_t group = group_of(to.value), pod = layout_.pod_of_leaf(group);
  switch (at.stage) {
    case Stage::device:
      if (!apart_ || at.index % rails_ == to.value % rails_) out.add(0, tors_);
      break;
    case Stage::leaf: {
      const std::uint32_t mine = at.index / tors_, below = devices_of(mine);
      if (mine == group) {
        out.add(slot_of(to.value));
      } else if (layout_.pod_of_leaf(mine) == pod) {
        out.add(below, spines_ * leaf_bundle_);
      } else {
        out.add(below, std::min(spines_, cores_) * leaf_bundle_);
      }
      break;
    }
    case Stage::spine: {
      const std::uint32_t mine = at.index / spines_;
      if (mine == pod) {
        out.add((group - pod * layout_.leaves()) * tors_ * leaf_bundle_, tors_ * leaf_bundle_);
      } else {
        out.add(groups_of(mine) * tors_ * leaf_bundle_,
                cores_above(at.index % spines_) * spine_bundle_);
      }
      break;
    }
    case Stage::core: out.add(pod * spine_bundle_, spine_bundle_); break;
  }
  return out;
}

// Destination modulo the up-links of the leaf, then what is left of it modulo those of the spine.
std::uint32_t Clos::spread(VertexId at, VertexId to) const {
  const Stage stage = place_of(at).stage;
  const std::uint32_t unit = to.value / rails_;  // where there are rails, a group has one of them
  if (stage == Stage::device || stage == Stage::leaf) return unit;
  return unit / std::max(1u, spines_ * leaf_bundle_);
}

MessageRoute Clos::message_route(core::DeviceId a, core::DeviceId b) const {
  const auto tor = static_cast<std::uint16_t>((a.value + b.value) % tors_);
  const Tier tier = layout_.tier_between_leaves(group_of(a.value), group_of(b.value));
  return {distance_of_tier_[static_cast<std::size_t>(tier)], tor, tor};
}

core::Time Clos::least_latency(std::uint32_t atom_shift) const {
  const std::uint32_t strides[] = {1, rails_};
  return least_latency_over(*this, atom_shift, strides);
}

// ---- figures

// What the devices of these groups of one pod can send beyond: the least cut of devices, leaves,
// spines (and cores). `y` spines with the fewest cores are on the devices' side of the cut.
WideRate Clos::pod_capacity(std::uint32_t first_group, std::uint32_t groups,
                            bool through_cores) const {
  const auto rate = [&](std::uint8_t kind) { return WideRate{kinds_[kind].bandwidth_bytes_per_s}; };
  WideRate least = -1;
  WideRate above = 0;  // of the y spines
  for (std::uint32_t y = 0; y <= (through_cores ? spines_ : 0); ++y) {
    if (y != 0) above += std::uint64_t{cores_above(spines_ - y)} * spine_bundle_ * rate(kSpineCore);
    const WideRate up = std::uint64_t{spines_ - y} * leaf_bundle_ * tors_ * rate(kLeafSpine);
    WideRate sum = above;
    for (std::uint32_t g = first_group; g < first_group + groups; ++g) {
      sum += std::min(rate(kHost) * tors_ * devices_of(g), up);
    }
    if (least < 0 || sum < least) least = sum;
  }
  return least;
}

WideRate Clos::bisection() const {
  if (blocks_ == 1 && cores_ == 0) {
    return WideRate{units_ / 2} * rails_ * tors_ * kinds_[kHost].bandwidth_bytes_per_s;
  }
  if (cores_ != 0) {
    WideRate side[2] = {0, 0};
    for (std::uint32_t p = 0; p < pods_; ++p) {
      side[p < pods_ / 2 ? 0 : 1] += pod_capacity(p * layout_.leaves(), groups_of(p), true);
    }
    return std::min(side[0], side[1]);
  }
  const std::uint32_t networks = apart_ ? rails_ : 1, width = apart_ ? 1 : rails_;
  const std::uint32_t half = blocks_ / 2;
  return networks * std::min(pod_capacity(0, half * width, false),
                             pod_capacity(half * width, (blocks_ - half) * width, false));
}

TopologyCounts Clos::counts() const {
  TopologyCounts out{.switches = switches(),
                     .links = std::uint64_t{devices_} * tors_ +
                              std::uint64_t{leaves()} * spines_ * leaf_bundle_ +
                              std::uint64_t{cores_} * pods_ * spine_bundle_};
  for (const Distance& d : distances_) out.diameter_links = std::max(out.diameter_links, d.links);
  out.bisection_bytes_per_s = bisection();
  return out;
}

}  // namespace exawarp::model
