// Recursive halving and doubling: reduce-scatter by halving distances, all-gather by doubling.
// Partners exchange the halves of the range that they share (Rabenseifner, ICCS 2004; Thakur,
// Rabenseifner, Gropp, IJHPCA 2005). Other n than powers of two: of 2d blocks from the own one on
// that are still to be reduced, those from d on go to the member that is d further, as far as there
// are so many; gathering goes the way back (Traeff, "Optimal, non-pipelined reduce-scatter and
// allreduce algorithms", arXiv 2410.14234).
#include "model/collective/exchange.h"

namespace exawarp::model {
namespace {

using core::product_to_end;
using core::sum_to_end;
using core::Time;
using T = schema::CollectiveType;

std::uint32_t phases_of(const Collective& c, std::uint32_t, std::uint32_t) {
  return (gives_to_all(c.type) ? 2 : 1) * log2_ceil(c.members);
}

Transfer transfer_at(const Collective& c, std::uint32_t position, std::uint32_t,
                     std::uint32_t phase, std::uint32_t) {
  const std::uint32_t n = c.members, rounds = log2_ceil(n);
  const bool halves = c.type != T::ALL_GATHER && phase < rounds;
  const std::uint32_t distance = 1u << (halves ? rounds - 1 - phase : phase % rounds);
  if (std::has_single_bit(n)) {
    const std::uint32_t partner = position ^ distance, owner = halves ? partner : position;
    return in_round(c, position, partner, phase,
                    {.first = owner & ~(distance - 1), .count = distance});
  }
  const std::uint32_t count = std::min(distance, n - distance);
  const std::uint32_t further = position_at(c, std::uint64_t{position} + distance);
  if (halves) return in_round(c, position, further, phase, {.first = further, .count = count});
  return in_round(c, position, position_at(c, std::uint64_t{position} + n - distance), phase,
                  {.first = position, .count = count});
}

// The sum over d = 1, 2, 4 .. below n of a + w(min(d, n - d) s); all-reduce: twice.
Time time(const Collective& c, const StepCost& cost) {
  const Sequence s(c, cost);
  Time total;
  for (std::uint32_t distance = 1; distance < c.members; distance *= 2) {
    total = sum_to_end(total, s.blocks(std::min(distance, c.members - distance)));
  }
  return product_to_end(gives_to_all(c.type) ? 2 : 1, total);
}

std::uint64_t messages(const Collective& c) {
  return (gives_to_all(c.type) ? 2u : 1u) * std::uint64_t{c.members} * log2_ceil(c.members);
}

}  // namespace

namespace algorithms {
extern const AlgorithmDescription halving;
const AlgorithmDescription halving{
    .types = set_of(T::ALL_REDUCE, T::REDUCE_SCATTER, T::ALL_GATHER),
    .place = 2,
    .phase_count = phases_of,
    .phase_of = one_each_way,
    .transfer_of = transfer_at,
    .time = time,
    .messages = messages,
};
}  // namespace algorithms

}  // namespace exawarp::model
