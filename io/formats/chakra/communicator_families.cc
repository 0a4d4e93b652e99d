// A family starts as one communicator and grows by uniting (a forest of parents). Families that
// came to hold a device twice fall apart again.
#include "io/formats/chakra/communicator_families.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/error.h"

namespace exawarp::io {

using core::InputError;

void CommunicatorFamilies::define(CommunicatorList list, const std::string& place) {
  if (list.id == 0) return;
  if (list.ranks.empty()) {
    list.ranks.resize(ranks_);
    std::iota(list.ranks.begin(), list.ranks.end(), 0u);
  }
  for (const std::uint32_t rank : list.ranks) {
    if (rank >= ranks_) {
      throw InputError(
          place, fmt::format("group {}: rank {}; expected less than {}", list.id, rank, ranks_));
    }
  }
  const auto [at, is_new] = members_.try_emplace(list.id, list.ranks);
  if (!is_new && at->second != list.ranks) {
    throw InputError(place, fmt::format("group {} is defined twice, differently", list.id));
  }
  parent_.try_emplace(list.id, list.id);
}

void CommunicatorFamilies::require(std::uint32_t id, std::uint32_t rank,
                                   const std::string& place) const {
  if (id == 0) return;
  const auto found = members_.find(id);
  if (found == members_.end()) {
    throw InputError(place, fmt::format("group {} is not defined; expected it in --comm-groups "
                                        "or a METADATA node",
                                        id));
  }
  if (std::ranges::find(found->second, rank) == found->second.end()) {
    throw InputError(place, fmt::format("rank {} is no member of its group {}", rank, id));
  }
}

std::uint32_t CommunicatorFamilies::root(std::uint32_t id) {
  while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
  return id;
}

std::set<std::uint32_t> CommunicatorFamilies::overlapping_roots() {
  std::map<std::uint32_t, std::set<std::uint32_t>> seen;
  std::set<std::uint32_t> bad;
  for (const auto& [id, ranks] : members_) {
    for (const std::uint32_t rank : ranks) {
      if (!seen[root(id)].insert(rank).second) bad.insert(root(id));
    }
  }
  return bad;
}

void CommunicatorFamilies::separate(const std::set<std::uint32_t>& roots) {
  std::vector<std::uint32_t> apart;
  for (const auto& [id, ranks] : members_) {
    if (roots.contains(root(id))) apart.push_back(id);
  }
  for (const std::uint32_t id : apart) parent_[id] = id;
}

void CommunicatorFamilies::pack_unused(const std::set<std::uint32_t>& used) {
  std::vector<bool> taken(ranks_);
  std::uint32_t family = 0;  // none yet
  for (const auto& [id, ranks] : members_) {
    if (used.contains(id)) continue;
    const bool fits =
        family != 0 && std::ranges::none_of(ranks, [&](std::uint32_t rank) { return taken[rank]; });
    if (fits) {
      unite(id, family);
    } else {
      taken.assign(ranks_, false);
      family = id;
    }
    for (const std::uint32_t rank : ranks) taken[rank] = true;
  }
}

std::size_t CommunicatorFamilies::write(model::WorkloadBuilder& workload, std::uint8_t axis) {
  group_[0] = workload.add_group("all ranks", {axis});
  std::map<std::uint32_t, std::vector<std::uint32_t>> families;
  for (const auto& [id, ranks] : members_) families[root(id)].push_back(id);
  for (const auto& [first, ids] : families) {
    std::vector<std::vector<std::uint32_t>> lists;
    for (const std::uint32_t id : ids) lists.push_back(members_[id]);
    const std::uint16_t group =
        workload.add_group_lists(fmt::format("communicators of {}", first), std::move(lists), ids);
    for (const std::uint32_t id : ids) group_[id] = group;
  }
  return families.size();
}

}  // namespace exawarp::io
