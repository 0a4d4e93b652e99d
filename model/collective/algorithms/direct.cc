// Every member to every other at once (Thakur, Rabenseifner, Gropp, IJHPCA 2005).
#include "model/collective/exchange.h"

namespace exawarp::model {
namespace {

using core::product_to_end;
using core::sum_to_end;
using core::Time;
using T = schema::CollectiveType;

std::uint32_t phases_of(const Collective& c, std::uint32_t, std::uint32_t) {
  return gives_to_all(c.type) ? 2 : 1;
}

Phase phase_at(const Collective& c, std::uint32_t position, std::uint32_t, std::uint32_t) {
  const std::uint32_t others = c.members - 1;
  const bool is_root = position == c.root;
  switch (c.type) {
    case T::PERMUTE:
      return c.shift == 0 ? Phase{0, 0} : Phase{1, 1};
    case T::BROADCAST:
    case T::SCATTER:
      return is_root ? Phase{others, 0} : Phase{0, 1};
    case T::REDUCE:
    case T::GATHER:
      return is_root ? Phase{0, others} : Phase{1, 0};
    default:
      return {others, others};
  }
}

Transfer transfer_at(const Collective& c, std::uint32_t position, std::uint32_t,
                     std::uint32_t phase, std::uint32_t index) {
  const std::uint32_t next = partner_at(c, position, index + 1);
  const auto to = [&](std::uint32_t peer, std::uint32_t peer_phase, const Blocks& blocks) {
    return exchanged(c, position, peer, peer_phase, blocks);
  };
  switch (c.type) {
    case T::PERMUTE:
      return to(position_at(c, std::uint64_t{position} + c.shift), 0,
                {.first = position, .count = 1});
    case T::BROADCAST:
      return to(next, 0, {.first = 0, .count = c.members});
    case T::REDUCE:
      return to(c.root, 0, {.first = 0, .count = c.members});
    case T::GATHER:
      return to(c.root, 0, {.first = position, .count = 1});
    case T::ALL_GATHER:
      return to(next, 0, {.first = position, .count = 1});
    case T::ALL_TO_ALL:
      return to(next, 0, {.first = distance_to(c, position, next), .count = 1});
    default:  // reducing, the receiver's block; then the own one
      return to(next, phase, {.first = phase == 0 ? next : position, .count = 1});
  }
}

Time time(const Collective& c, const StepCost& cost) {
  const Sequence s(c, cost);
  if (c.type == T::PERMUTE) return c.shift == 0 ? Time{0} : s.everything();
  return product_to_end(gives_to_all(c.type) ? 2 : 1,
                        sum_to_end(s.latency(), all_pairs_time(c, s, Time{0})));
}

std::uint64_t messages(const Collective& c) {
  const std::uint64_t n = c.members, others = n - 1;
  if (c.type == T::PERMUTE) return c.shift == 0 ? 0 : n;
  return is_rooted(c.type) ? others : (gives_to_all(c.type) ? 2 : 1) * n * others;
}

}  // namespace

namespace algorithms {
extern const AlgorithmDescription direct;
const AlgorithmDescription direct{
    .types = set_of(T::ALL_REDUCE, T::REDUCE_SCATTER, T::ALL_GATHER, T::ALL_TO_ALL, T::BROADCAST,
                    T::REDUCE, T::BARRIER, T::GATHER, T::SCATTER, T::PERMUTE),
    .place = 6,
    .turns = true,
    .meets_by_nodes = true,
    .phase_count = phases_of,
    .phase_of = phase_at,
    .transfer_of = transfer_at,
    .time = time,
    .messages = messages,
};
}  // namespace algorithms

}  // namespace exawarp::model
