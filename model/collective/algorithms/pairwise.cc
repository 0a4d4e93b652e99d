// All-to-all in n - 1 rounds, one partner a round (Thakur, Rabenseifner, Gropp, IJHPCA 2005).
#include "model/collective/exchange.h"

namespace exawarp::model {
namespace {

using core::Time;
using T = schema::CollectiveType;

std::uint32_t phases_of(const Collective& c, std::uint32_t, std::uint32_t) { return c.members - 1; }

Transfer transfer_at(const Collective& c, std::uint32_t position, std::uint32_t,
                     std::uint32_t phase, std::uint32_t) {
  const std::uint32_t partner = partner_at(c, position, phase + 1);
  return exchanged(c, position, partner, phase,
                   {.first = distance_to(c, position, partner), .count = 1});
}

Time time(const Collective& c, const StepCost& cost) {
  return all_pairs_time(c, Sequence(c, cost), cost.latency);
}

std::uint64_t messages(const Collective& c) { return std::uint64_t{c.members} * (c.members - 1); }

}  // namespace

namespace algorithms {
extern const AlgorithmDescription pairwise;
const AlgorithmDescription pairwise{
    .types = set_of(T::ALL_TO_ALL),
    .place = 8,
    .turns = true,
    .meets_by_nodes = true,
    .phase_count = phases_of,
    .phase_of = one_each_way,
    .transfer_of = transfer_at,
    .time = time,
    .messages = messages,
};
}  // namespace algorithms

}  // namespace exawarp::model
