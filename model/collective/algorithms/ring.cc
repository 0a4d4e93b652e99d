// Around the members (Patarasuk, Yuan, JPDC 2009); broadcast and reduce go along a chain.
// Reducing, block b sets out from b's successor and gains a share a step; gathering, it sets out
// from b. Backwards, successor and predecessor change places.
#include "model/collective/exchange.h"
#include "model/collective/member_order.h"

namespace exawarp::model {
namespace {

using core::product_to_end;
using core::sum_to_end;
using core::Time;
using T = schema::CollectiveType;

TreeKind chain(std::uint32_t lane) { return {.shape = TreeShape::chain, .turn = lane}; }

std::uint32_t phases_of(const Collective& c, std::uint32_t, std::uint32_t) {
  return (gives_to_all(c.type) ? 2 : 1) * (c.members - 1);
}

Transfer transfer_at(const Collective& c, std::uint32_t position, std::uint32_t lane,
                     std::uint32_t phase, std::uint32_t) {
  const MemberOrder order(c, lane);
  const std::uint32_t n = c.members, round = phase < n - 1 ? phase : phase - (n - 1);
  const std::uint32_t p = order.number_of(position);
  const bool backwards = c.both_ways && lane % 2 == 1;
  const bool gathers = c.type == T::ALL_GATHER || phase >= n - 1;
  const std::uint32_t away = gathers ? round : round + 1;
  const std::uint32_t peer = position_near(c, backwards ? p + n - 1 : p + 1);
  const std::uint32_t block = position_near(c, backwards ? p + away : p + n - away);
  return exchanged(c, position, order.position_of(peer), phase,
                   {.first = order.position_of(block), .count = 1});
}

Time time(const Collective& c, const StepCost& cost) {
  const Sequence s(c, cost);
  const Time wire = s.wire(bytes_of(c, {.first = 0, .count = 1}));
  if (is_broadcast_or_reduce(c.type)) {
    return sum_to_end(product_to_end(c.members - 1, sum_to_end(s.latency(), wire)),
                      product_to_end(c.lanes - 1, wire));
  }
  const std::int64_t rounds = (gives_to_all(c.type) ? 2 : 1) * std::int64_t{c.members - 1};
  const Time busy = product_to_end(c.lanes, wire);
  const Time round = std::max(busy, sum_to_end(s.latency(), wire));
  return sum_to_end(product_to_end(rounds - 1, round), sum_to_end(busy, s.latency()));
}

std::uint64_t messages(const Collective& c) {
  const std::uint64_t n = c.members, others = n - 1;
  return c.lanes * others *
         (is_broadcast_or_reduce(c.type) ? 1 : (gives_to_all(c.type) ? 2 : 1) * n);
}

}  // namespace

namespace algorithms {
extern const AlgorithmDescription ring;
const AlgorithmDescription ring{
    .types = set_of(T::ALL_REDUCE, T::REDUCE_SCATTER, T::ALL_GATHER, T::BARRIER, T::BROADCAST,
                    T::REDUCE),
    .place = 1,
    .uses_lanes = true,
    .lanes_share_data = true,
    .turns = true,
    .goes_round = true,
    .tree_types = set_of(T::BROADCAST, T::REDUCE),
    .tree_of = chain,
    .phase_count = phases_of,
    .phase_of = one_each_way,
    .transfer_of = transfer_at,
    .time = time,
    .messages = messages,
};
}  // namespace algorithms

}  // namespace exawarp::model
