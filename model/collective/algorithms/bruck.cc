// Bruck et al., IEEE TPDS 1997: all-gather and all-to-all in ceil(log2 n) rounds; for a barrier
// this is dissemination (Hensgen, Finkel, Manber 1988).
#include "model/collective/exchange.h"

namespace exawarp::model {
namespace {

using core::sum_to_end;
using core::Time;
using T = schema::CollectiveType;

Transfer transfer_at(const Collective& c, std::uint32_t position, std::uint32_t,
                     std::uint32_t phase, std::uint32_t) {
  const std::uint32_t n = c.members, distance = 1u << phase;
  if (c.type == T::ALL_GATHER) {
    return in_round(c, position, position_at(c, std::uint64_t{position} + n - distance), phase,
                    {.first = position, .count = std::min(distance, n - distance)});
  }
  const std::uint32_t peer = position_at(c, std::uint64_t{position} + distance);
  if (c.type == T::BARRIER) return in_round(c, position, peer, phase, {.first = 0, .count = n});
  return in_round(c, position, peer, phase, {.first = phase, .count = 0, .by_bit = true});
}

Time time(const Collective& c, const StepCost& cost) {
  const Sequence s(c, cost);
  Time total;
  for (std::uint32_t i = 0; i < log2_ceil(c.members); ++i) {
    const std::uint32_t distance = 1u << i;
    const Time step = c.type == T::ALL_TO_ALL
                          ? s.message(bytes_of(c, {.first = i, .count = 0, .by_bit = true}))
                          : s.blocks(std::min(distance, c.members - distance));
    total = sum_to_end(total, step);
  }
  return total;
}

}  // namespace

namespace algorithms {
extern const AlgorithmDescription bruck;
const AlgorithmDescription bruck{
    .types = set_of(T::ALL_GATHER, T::ALL_TO_ALL, T::BARRIER),
    .place = 7,
    .takes_sizes = false,
    .phase_count = doublings,
    .phase_of = one_each_way,
    .transfer_of = transfer_at,
    .time = time,
    .messages = messages_of_doublings,
};
}  // namespace algorithms

}  // namespace exawarp::model
