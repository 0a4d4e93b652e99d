// The network among the members of one communicator, as a collective's time depends on it, and
// which communicators of a family have the same one.
//
// Groups are alike where every message between two positions has the same way in both: the same
// class of path and, where devices have several interfaces out of their node, the same ones. On the
// fat tree that follows from who shares a node, a leaf and a pod with whom, which takes O(n) to
// tell. On a topology all pairs are compared in groups of up to kPairsMax; larger ones are not
// alike.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "model/device/collective_stages.h"
#include "model/job/job.h"
#include "model/network/message/network.h"

namespace exawarp::model {

// How far apart a group is: its first member and its last. Where a placement scatters ranks, the
// farthest from the first of up to 8 members in even distances. The same for all members.
// `device_at` gives the device at a position. Requires at least 2 members.
template <class DeviceAt>
Tier span_of_group(const Network& network, std::uint32_t members, bool scattered,
                   DeviceAt device_at) {
  constexpr std::uint32_t kProbes = 8;
  const core::DeviceId first = device_at(0);
  const std::uint32_t last = members - 1;
  Tier farthest = network.tier_between(first, device_at(last));
  if (!scattered) return farthest;
  for (std::uint32_t i = 1; i < std::min(kProbes, last); ++i) {
    const std::uint32_t position =
        last < kProbes ? i : static_cast<std::uint32_t>(std::uint64_t{last} * i / kProbes);
    const Tier tier = network.tier_between(first, device_at(position));
    if (network.latency(tier) > network.latency(farthest)) farthest = tier;
  }
  return farthest;
}

class GroupNetwork {
 public:
  static constexpr std::uint32_t kPairsMax = 64;

  // `devices` by position, at least 2; `scattered`: they are not in the order of ranks.
  GroupNetwork(const Network& network, std::vector<core::DeviceId> devices, bool scattered);

  [[nodiscard]] const Network& network() const { return *network_; }
  [[nodiscard]] std::uint32_t members() const {
    return static_cast<std::uint32_t>(devices_.size());
  }
  [[nodiscard]] core::DeviceId device(std::uint32_t position) const { return devices_[position]; }
  [[nodiscard]] Tier tier(std::uint32_t a, std::uint32_t b) const {
    return network_->tier_between(devices_[a], devices_[b]);
  }
  // How far apart all members are, if that is one distance and each has one interface for it that
  // no link of the way is slower than.
  [[nodiscard]] std::optional<Tier> uniform() const { return uniform_; }
  [[nodiscard]] Tier span() const { return span_; }
  // Equal for groups that are alike.
  [[nodiscard]] std::uint64_t fingerprint() const { return fingerprint_; }
  // The least p, a divisor of the members and a multiple of `unit`, such that turning all positions
  // by p changes no distance between two of them; the number of members where none is known.
  [[nodiscard]] std::uint32_t period(std::uint32_t unit) const;

 private:
  static constexpr std::uint32_t kLevels = 3;  // node, leaf, pod

  void compare_places(const LeafLayout& tree);
  void compare_pairs();
  [[nodiscard]] bool repeats_after(std::uint32_t period) const;

  const Network* network_;
  std::vector<core::DeviceId> devices_;
  std::optional<Tier> uniform_;
  Tier span_;
  std::uint64_t fingerprint_ = 0;
  // By level and position: which of the group's nodes, leaves, pods, in the order of the first
  // position in each. Empty on a topology.
  std::array<std::vector<std::uint32_t>, kLevels> place_;
};

// Which class of network each communicator of a family has.
class GroupClasses {
 public:
  // Of the communicator whose member at position 0 is rank `first`. Cost: O(log of runs).
  [[nodiscard]] std::uint32_t class_of(core::DeviceId first) const;
  [[nodiscard]] std::uint32_t count() const;
  [[nodiscard]] bool are_alike() const { return runs_.size() <= 1; }  // all are of class 0
  // Requires ascending `first`.
  void add(core::DeviceId first, std::uint32_t group_class);

 private:
  // Where, by first rank, another class begins; most families have one run.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> runs_;
};

struct GroupFamily {
  GroupClasses classes;
  std::vector<GroupNetwork> networks;  // one of each class
};

// The communicators of `among` that have at least 2 members. Cost: O(devices of the job), 64 times
// that on a topology.
GroupFamily group_family(const Among& among, const PlacedJob& job, const Network& network);

}  // namespace exawarp::model
