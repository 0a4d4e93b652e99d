// Groups are told apart by a hash: of which members share a node, leaf and pod on a fat tree, of
// all pairs' paths and interfaces on a topology.
#include "model/device/group_network.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "core/digest.h"

namespace exawarp::model {

using core::DeviceId;

GroupNetwork::GroupNetwork(const Network& network, std::vector<DeviceId> devices, bool scattered)
    : network_(&network), devices_(std::move(devices)) {
  span_ = span_of_group(network, members(), scattered,
                        [this](std::uint32_t position) { return devices_[position]; });
  if (network.tree() != nullptr) {
    compare_places(*network.tree());
  } else {
    compare_pairs();
  }
  const bool one_interface =
      !uniform_ || *uniform_ == Tier::node || network.further_interfaces() == 0;
  if (!one_interface || (uniform_ && network.lags(*uniform_))) uniform_.reset();
}

namespace {

// Numbers places in the order in which they come first. Most come in ascending order, or again: a
// list of them does until one comes that is less than one before.
class PlaceNumbers {
 public:
  std::uint32_t of(std::uint32_t place) {
    if (!numbers_.empty()) return numbers_.try_emplace(place, count()).first->second;
    if (ascending_.empty() || place > ascending_.back()) {
      ascending_.push_back(place);
      return static_cast<std::uint32_t>(ascending_.size() - 1);
    }
    if (place == ascending_.back()) return static_cast<std::uint32_t>(ascending_.size() - 1);
    const auto at = std::ranges::lower_bound(ascending_, place);
    if (*at == place) return static_cast<std::uint32_t>(at - ascending_.begin());
    for (std::uint32_t i = 0; i < ascending_.size(); ++i) numbers_.try_emplace(ascending_[i], i);
    return numbers_.try_emplace(place, count()).first->second;
  }
  [[nodiscard]] std::uint32_t count() const {
    return static_cast<std::uint32_t>(std::max(ascending_.size(), numbers_.size()));
  }

 private:
  std::vector<std::uint32_t> ascending_;
  std::map<std::uint32_t, std::uint32_t> numbers_;  // once they do not ascend
};

}  // namespace

void GroupNetwork::compare_places(const LeafLayout& tree) {
  core::Hasher hash;
  std::array<std::uint32_t, kLevels> places{};
  for (std::uint32_t level = 0; level < kLevels; ++level) {
    PlaceNumbers numbers;
    place_[level].reserve(devices_.size());
    for (const DeviceId device : devices_) {
      const std::uint32_t place = level == 0   ? network_->layout().node_of(device)
                                  : level == 1 ? tree.leaf_of(device)
                                               : tree.pod_of(device);
      place_[level].push_back(numbers.of(place));
      hash.word(place_[level].back());
    }
    places[level] = numbers.count();
  }
  fingerprint_ = hash.value();
  const std::uint32_t n = members();
  if (places[0] == 1) {
    uniform_ = Tier::node;
  } else if (places[0] == n && places[1] == 1) {
    uniform_ = Tier::leaf;
  } else if (places[0] == n && places[1] == n && places[2] == 1) {
    uniform_ = Tier::pod;
  } else if (places[0] == n && places[2] == n) {
    uniform_ = Tier::core;
  }
}

void GroupNetwork::compare_pairs() {
  core::Hasher hash;
  const std::uint32_t n = members();
  if (n > kPairsMax) {
    for (const DeviceId device : devices_) hash.word(device.value);
    fingerprint_ = hash.value();
    return;
  }
  uniform_ = tier(0, 1);
  for (std::uint32_t a = 0; a < n; ++a) {
    for (std::uint32_t b = 0; b < n; ++b) {
      if (a == b) continue;
      const Tier between = tier(a, b);
      const Ends ends = network_->ends_of(interface_of(between), devices_[a], devices_[b], 0);
      hash.word(std::uint64_t{static_cast<std::uint16_t>(between)} << 32 |
                std::uint64_t{static_cast<std::uint16_t>(ends.out)} << 16 |
                static_cast<std::uint16_t>(ends.in));
      if (uniform_ && *uniform_ != between) uniform_.reset();
    }
  }
  fingerprint_ = hash.value();
}

bool GroupNetwork::repeats_after(std::uint32_t period) const {
  constexpr std::uint32_t kUnknown = 0xffffffff;
  const std::uint32_t n = members();
  for (const auto& place : place_) {
    std::vector<std::uint32_t> becomes(n, kUnknown);
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t there = place[i + period < n ? i + period : i + period - n];
      std::uint32_t& known = becomes[place[i]];
      if (known == kUnknown) known = there;
      if (known != there) return false;
    }
  }
  return true;
}

std::uint32_t GroupNetwork::period(std::uint32_t unit) const {
  const std::uint32_t n = members();
  if (network_->tree() == nullptr) return n;
  for (std::uint32_t p = unit; p <= n / 2; p += unit) {
    if (n % p == 0 && repeats_after(p)) return p;
  }
  return n;
}

void GroupClasses::add(DeviceId first, std::uint32_t group_class) {
  if (!runs_.empty() && runs_.back().second == group_class) return;
  runs_.emplace_back(first.value, group_class);
}

std::uint32_t GroupClasses::class_of(DeviceId first) const {
  if (runs_.size() <= 1) return 0;
  const auto after = std::ranges::upper_bound(runs_, first.value, {},
                                              &std::pair<std::uint32_t, std::uint32_t>::first);
  return after == runs_.begin() ? 0 : std::prev(after)->second;
}

std::uint32_t GroupClasses::count() const {
  std::uint32_t most = 0;
  for (const auto& [first, group_class] : runs_) most = std::max(most, group_class);
  return most + 1;
}

namespace {

// Tells communicators of a family that are alike without looking at all of their members.
//
// Where ranks are devices in order, and a family lies along axes, each of its communicators has its
// members at the same distances from its first one. Which of them share a node, leaf or pod, of S
// devices, then depends on the first one's number modulo S alone. Of that, only in which of the
// stretches of g devices it lies matters, where g, the greatest common divisor of the distances,
// divides S; and nothing does, where S divides g.
class Translations {
 public:
  using Key = std::array<std::uint64_t, 3>;

  Translations(const Among& among, const PlacedJob& job, const Network& network) {
    const WorkloadGraph& graph = *job.graph;
    const LeafLayout* const tree = network.tree();
    if (job.ranks != nullptr || tree == nullptr || among.width != 0) return;
    std::vector<std::uint8_t> axes;
    if (among.axis == kWholeGroup) {
      if (graph.group(among.group).by_lists) return;
      axes = graph.group(among.group).axes;
    } else {
      axes.push_back(static_cast<std::uint8_t>(among.axis));
    }
    for (const std::uint8_t axis : axes) {
      if (graph.axis_size(axis) > 1) step_ = std::gcd(step_, graph.axis_stride(axis));
    }
    const std::uint64_t leaf = tree->devices();
    sizes_ = {network.layout().devices(), leaf, leaf * tree->leaves()};
  }

  // Equal for communicators that are alike; nothing where that is not known.
  [[nodiscard]] std::optional<Key> key_of(DeviceId first) const {
    if (step_ == 0) return std::nullopt;
    Key key;
    for (std::size_t level = 0; level < key.size(); ++level) {
      const std::uint64_t size = sizes_[level], place = first.value % size;
      key[level] = step_ % size == 0 ? 0 : size % step_ == 0 ? place / step_ : place;
    }
    return key;
  }

 private:
  std::uint64_t step_ = 0;              // 0: keys say nothing
  std::array<std::uint64_t, 3> sizes_{};  // of a node, a leaf, a pod
};

}  // namespace

GroupFamily group_family(const Among& among, const PlacedJob& job, const Network& network) {
  const WorkloadGraph& graph = *job.graph;
  GroupFamily family;
  const Translations translations(among, job, network);
  std::map<Translations::Key, std::uint32_t> by_key;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> known;  // size, fingerprint
  for (std::uint32_t r = 0; r < graph.device_count(); ++r) {
    const Membership in = among.membership(graph, {r});
    if (in.size < 2 || in.position != 0) continue;
    const auto key = translations.key_of({r});
    if (const auto at = key ? by_key.find(*key) : by_key.end(); at != by_key.end()) {
      family.classes.add({r}, at->second);
      continue;
    }
    std::vector<DeviceId> devices = among.members(graph, {r});
    for (DeviceId& device : devices) device = job.device_of(device);
    GroupNetwork group(network, std::move(devices), job.ranks != nullptr);
    const auto next = static_cast<std::uint32_t>(family.networks.size());
    const auto [it, fresh] = known.try_emplace({in.size, group.fingerprint()}, next);
    if (fresh) family.networks.push_back(std::move(group));
    family.classes.add({r}, it->second);
    if (key) by_key.emplace(*key, it->second);
  }
  return family;
}

}  // namespace exawarp::model
