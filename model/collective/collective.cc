// What all algorithms share: the bytes of blocks, and the way from a collective to the description
// of its algorithm.
#include "model/collective/collective.h"

#include <algorithm>

#include "core/check.h"
#include "model/collective/algorithm.h"

namespace exawarp::model {
namespace {

using schema::CollectiveType;

// Numbers in [1, n) with bit `bit` set: whole periods of 2^(bit+1), then what is left.
std::uint32_t count_with_bit(std::uint32_t n, std::uint32_t bit) {
  const std::uint64_t period = std::uint64_t{2} << bit, half = period / 2;
  const std::uint64_t rest = n % period;
  return static_cast<std::uint32_t>(n / period * half + (rest > half ? rest - half : 0));
}

}  // namespace

bool can_run(CollectiveType type, Algorithm algorithm) {
  return (description_of(algorithm).types & set_of(type)) != 0;
}

std::vector<Algorithm> listed_algorithms() {
  std::vector<Algorithm> all;
  for (std::size_t i = 0; i < kAlgorithmNames.size(); ++i) {
    all.push_back(static_cast<Algorithm>(i));  // in the order of their names
  }
  std::ranges::stable_sort(all, {}, [](Algorithm a) { return description_of(a).place; });
  return all;
}

bool can_use_lanes(Algorithm algorithm) { return description_of(algorithm).uses_lanes; }

std::uint32_t phase_count(const Collective& c, std::uint32_t position, std::uint32_t lane) {
  EXAWARP_DCHECK(position < c.members && lane < c.lanes, position, lane);
  if (c.members == 1) return 0;
  const AlgorithmDescription& a = description_of(c.algorithm);
  return moves_on_tree(a, c) ? TreeSteps(c, position, a.tree_of(lane)).phases()
                             : a.phase_count(c, position, lane);
}

Phase phase_of(const Collective& c, std::uint32_t position, std::uint32_t lane,
               std::uint32_t phase) {
  EXAWARP_DCHECK(position < c.members && lane < c.lanes, position, lane);
  const AlgorithmDescription& a = description_of(c.algorithm);
  return moves_on_tree(a, c) ? TreeSteps(c, position, a.tree_of(lane)).phase(phase)
                             : a.phase_of(c, position, lane, phase);
}

Transfer transfer_of(const Collective& c, std::uint32_t position, std::uint32_t lane,
                     std::uint32_t phase, std::uint32_t index) {
  EXAWARP_DCHECK(position < c.members && lane < c.lanes, position, lane);
  const AlgorithmDescription& a = description_of(c.algorithm);
  return moves_on_tree(a, c) ? TreeSteps(c, position, a.tree_of(lane)).transfer(phase, index)
                             : a.transfer_of(c, position, lane, phase, index);
}

std::int64_t lane_bytes(const Collective& c) { return (c.bytes + c.lanes - 1) / c.lanes; }

std::int64_t bytes_of(const Collective& c, const Blocks& blocks) {
  const std::int64_t all = lane_bytes(c);
  const std::int64_t share = (all + c.members - 1) / c.members;
  switch (c.type) {
    case CollectiveType::BARRIER:
      return 0;
    case CollectiveType::BROADCAST:
    case CollectiveType::REDUCE:
    case CollectiveType::PERMUTE:
      return all;
    case CollectiveType::ALL_GATHER:
    case CollectiveType::GATHER:
    case CollectiveType::SCATTER:
      return blocks.count * all;
    default:
      break;
  }
  const std::uint32_t count =
      blocks.by_bit ? count_with_bit(c.members, blocks.first) : blocks.count;
  return std::min(count * share, all);
}

}  // namespace exawarp::model
