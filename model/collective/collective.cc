#include "model/collective/collective.h"

#include <algorithm>

#include "model/collective/exchange.h"
#include "model/collective/tree_steps.h"

namespace exawarp::model {
namespace {

using schema::CollectiveType;

bool is_broadcast_or_reduce(CollectiveType type) {
  return type == CollectiveType::BROADCAST || type == CollectiveType::REDUCE;
}

bool runs_on_tree(const Collective& c) {
  return c.algorithm == Algorithm::tree || c.algorithm == Algorithm::double_tree ||
         c.algorithm == Algorithm::in_network ||
         (c.algorithm == Algorithm::ring && is_broadcast_or_reduce(c.type));
}

// The order in which a lane of a ring goes round the members of a node.
class NodeOrder {
 public:
  NodeOrder(const Collective& c, std::uint32_t lane)
      : members_(c.algorithm == Algorithm::ring && !runs_on_tree(c) ? c.node_members : 1),
        turn_(lane % members_) {}

  [[nodiscard]] std::uint32_t number_of(std::uint32_t position) const {
    const std::uint32_t inside = position % members_;
    return position - inside + (inside + members_ - turn_) % members_;
  }
  [[nodiscard]] std::uint32_t position_of(std::uint32_t number) const {
    const std::uint32_t inside = number % members_;
    return number - inside + (inside + turn_) % members_;
  }

 private:
  std::uint32_t members_, turn_;
};

Exchange exchange_of(const Collective& c, std::uint32_t position, std::uint32_t lane) {
  return {c, NodeOrder(c, lane).number_of(position), c.both_ways && lane % 2 == 1};
}

std::int64_t exchange_bytes(const Collective& c, std::uint32_t from, std::uint32_t to,
                            const Blocks& blocks) {
  if (c.sizes.empty()) return bytes_of(c, blocks);
  const std::size_t n = c.members;
  const std::size_t at = c.sizes.size() == n ? blocks.first : std::size_t{from} * n + to;
  return static_cast<std::int64_t>(c.sizes[at]);
}

// Numbers in [1, n) with bit `bit` set: whole periods of 2^(bit+1), then what is left.
std::uint32_t count_with_bit(std::uint32_t n, std::uint32_t bit) {
  const std::uint64_t period = std::uint64_t{2} << bit, half = period / 2;
  const std::uint64_t rest = n % period;
  return static_cast<std::uint32_t>(n / period * half + (rest > half ? rest - half : 0));
}

}  // namespace

bool can_run(CollectiveType type, Algorithm algorithm) {
  using T = CollectiveType;
  const auto among = [type](auto... types) { return ((type == types) || ...); };
  switch (algorithm) {
    case Algorithm::ring:
      return among(T::ALL_REDUCE, T::REDUCE_SCATTER, T::ALL_GATHER, T::BARRIER, T::BROADCAST,
                   T::REDUCE);
    case Algorithm::halving: return among(T::ALL_REDUCE, T::REDUCE_SCATTER, T::ALL_GATHER);
    case Algorithm::doubling: return among(T::ALL_REDUCE, T::BARRIER);
    case Algorithm::tree:
      return among(T::ALL_REDUCE, T::BARRIER, T::BROADCAST, T::REDUCE, T::GATHER, T::SCATTER);
    case Algorithm::double_tree: return among(T::ALL_REDUCE, T::BROADCAST, T::REDUCE);
    case Algorithm::direct: return true;
    case Algorithm::bruck: return among(T::ALL_GATHER, T::ALL_TO_ALL, T::BARRIER);
    case Algorithm::pairwise: return type == T::ALL_TO_ALL;
    case Algorithm::in_network:
      return among(T::ALL_REDUCE, T::REDUCE_SCATTER, T::ALL_GATHER, T::BARRIER, T::BROADCAST,
                   T::REDUCE);
  }
  return false;
}

bool can_use_lanes(Algorithm algorithm) {
  return algorithm == Algorithm::ring || algorithm == Algorithm::double_tree;
}

std::uint32_t phase_count(const Collective& c, std::uint32_t position, std::uint32_t lane) {
  if (c.members == 1) return 0;
  return runs_on_tree(c) ? TreeSteps(c, position, lane).phases()
                         : exchange_of(c, position, lane).phases();
}

Phase phase_of(const Collective& c, std::uint32_t position, std::uint32_t lane,
               std::uint32_t phase) {
  return runs_on_tree(c) ? TreeSteps(c, position, lane).phase(phase)
                         : exchange_of(c, position, lane).phase();
}

Transfer transfer_of(const Collective& c, std::uint32_t position, std::uint32_t lane,
                     std::uint32_t phase, std::uint32_t index) {
  if (runs_on_tree(c)) return TreeSteps(c, position, lane).transfer(phase, index);
  const ExchangeStep step = exchange_of(c, position, lane).step(phase, index);
  const NodeOrder order(c, lane);
  Transfer t{.peer = order.position_of(step.peer), .peer_phase = step.peer_phase,
             .blocks = step.blocks};
  if (c.algorithm == Algorithm::ring) t.blocks.first = order.position_of(step.blocks.first);
  t.bytes = t.bytes_received = exchange_bytes(c, position, t.peer, t.blocks);
  return t;
}

std::int64_t lane_bytes(const Collective& c) { return (c.bytes + c.lanes - 1) / c.lanes; }

std::int64_t bytes_of(const Collective& c, const Blocks& blocks) {
  const std::int64_t all = lane_bytes(c);
  const std::int64_t share = (all + c.members - 1) / c.members;
  switch (c.type) {
    case CollectiveType::BARRIER: return 0;
    case CollectiveType::BROADCAST:
    case CollectiveType::REDUCE:
    case CollectiveType::PERMUTE: return all;
    case CollectiveType::ALL_GATHER:
    case CollectiveType::GATHER:
    case CollectiveType::SCATTER: return blocks.count * all;
    default: break;
  }
  const std::uint32_t count =
      blocks.by_bit ? count_with_bit(c.members, blocks.first) : blocks.count;
  return std::min(count * share, all);
}

}  // namespace exawarp::model
