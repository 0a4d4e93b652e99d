// Recursive doubling with the whole buffer, to the partner at distance 1, 2, 4 ... (Thakur,
// Rabenseifner, Gropp, IJHPCA 2005). Other n than powers of two: a member has heard of `heard`
// members before it, the leading bits of n - 1. Its successor by `heard` gets that sum, or, to hear
// of one more, its successor by one more gets it with the own part (Bar-Noy, Kipnis, Schieber, "An
// optimal algorithm for computing census functions in message-passing systems", Parallel
// Processing Letters 1993).
#include "model/collective/exchange.h"

namespace exawarp::model {
namespace {

using core::product_to_end;
using core::Time;
using T = schema::CollectiveType;

Transfer transfer_at(const Collective& c, std::uint32_t position, std::uint32_t,
                     std::uint32_t phase, std::uint32_t) {
  const std::uint32_t n = c.members;
  if (std::has_single_bit(n)) {
    return in_round(c, position, position ^ (1u << phase), phase, {.first = 0, .count = n});
  }
  const std::uint32_t bits_left = log2_ceil(n) - phase;
  const auto heard = static_cast<std::uint32_t>(std::uint64_t{n - 1} >> bits_left);
  const std::uint32_t one_more = (n - 1) >> (bits_left - 1) & 1u;
  return in_round(c, position, position_at(c, std::uint64_t{position} + heard + one_more), phase,
                  {.first = 0, .count = n, .without_own = one_more == 0});
}

Time time(const Collective& c, const StepCost& cost) {
  return product_to_end(log2_ceil(c.members), Sequence(c, cost).everything());
}

}  // namespace

namespace algorithms {
extern const AlgorithmDescription doubling;
const AlgorithmDescription doubling{
    .types = set_of(T::ALL_REDUCE, T::BARRIER),
    .place = 3,
    .phase_count = doublings,
    .phase_of = one_each_way,
    .transfer_of = transfer_at,
    .time = time,
    .messages = messages_of_doublings,
};
}  // namespace algorithms

}  // namespace exawarp::model
