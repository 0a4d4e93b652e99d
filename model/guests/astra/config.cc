#include "model/guests/astra/config.h"

#include <algorithm>

namespace exawarp::model::astra {

std::optional<Simulated> simulated(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce: return Simulated::all_reduce;
    case CollectiveKind::all_gather: return Simulated::all_gather;
    case CollectiveKind::reduce_scatter: return Simulated::reduce_scatter;
    case CollectiveKind::all_to_all: return Simulated::all_to_all;
    default: return std::nullopt;
  }
}

const char* collective_name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce: return "all-reduce";
    case CollectiveKind::all_gather: return "all-gather";
    case CollectiveKind::reduce_scatter: return "reduce-scatter";
    case CollectiveKind::all_to_all: return "all-to-all";
    case CollectiveKind::broadcast: return "broadcast";
    default: return "unknown collective";
  }
}

std::uint32_t CommGroup::position(Rank rank) const {
  const auto found = std::ranges::lower_bound(positions, std::pair{rank, 0u});
  if (found == positions.end() || found->first != rank) {
    return static_cast<std::uint32_t>(members.size());
  }
  return found->second;
}

void CommGroup::index() {
  positions.clear();
  for (std::uint32_t i = 0; i < members.size(); ++i) positions.emplace_back(members[i], i);
  std::ranges::sort(positions);
}

std::uint32_t SystemConfig::phases_of(Simulated family) const {
  const std::vector<Implementation>& list = implementations_of(family);
  const auto last = std::ranges::find_if(list, &Implementation::over_all_ranks);
  return static_cast<std::uint32_t>(last - list.begin()) + (last != list.end() ? 1 : 0);
}

std::shared_ptr<const CustomCollective> SystemConfig::custom_for(const TraceNode& node) const {
  const auto found = custom_of_node.find(node.id);
  if (found != custom_of_node.end()) return found->second;
  const std::optional<Simulated> family = simulated(node.collective);
  return family ? custom[static_cast<std::size_t>(*family)] : nullptr;
}

}  // namespace exawarp::model::astra
