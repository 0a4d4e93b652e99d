// Parallel aggregated trees, for all-gather and reduce-scatter (Jeaugey, "PAT: a new algorithm for
// all-gather and reduce-scatter operations at scale", 2025; NCCL 2.23): rounds as Bruck's, with the
// distances in reverse order.
//
// Gathering, each block goes down a binomial tree of its own, far distances first: the member v
// places after its owner has it from the one at v less v's lowest bit. In the round of distance d a
// member hands on, to the one d further, the blocks that have come to it from 0, 2d, 4d ... places
// before, where d more is below n. So far messages carry one block, near ones half of the data:
//
//   n = 6    d = 4: p sends block p;  d = 2: p;  d = 1: p, p-2, p-4
//
// Reducing goes the way back: near distances first, with partial sums. ceil(log2 n) rounds, and
// n - 1 blocks in all, for every n. Modelled with full aggregation: intermediate buffers hold what
// a round carries. Where NCCL's are smaller, it splits rounds, which is not modelled.
#include "core/check.h"
#include "model/collective/exchange.h"

namespace exawarp::model {
namespace {

using core::sum_to_end;
using core::Time;
using T = schema::CollectiveType;

// How many of v = 0, 2d, 4d ... have v + d < n. Requires 0 < d < n.
std::uint32_t blocks_of(std::uint32_t n, std::uint32_t d) { return (n - d - 1) / 2 / d + 1; }

Transfer transfer_at(const Collective& c, std::uint32_t position, std::uint32_t,
                     std::uint32_t phase, std::uint32_t) {
  const std::uint32_t n = c.members, rounds = log2_ceil(n);
  EXAWARP_DCHECK(phase < rounds, phase, rounds);
  const bool gathers = c.type == T::ALL_GATHER;
  const std::uint32_t distance = 1u << (gathers ? rounds - 1 - phase : phase);
  const std::uint32_t count = blocks_of(n, distance);
  const std::uint32_t peer =
      position_at(c, std::uint64_t{position} + (gathers ? distance : n - distance));
  // Both ways the blocks are counted from the nearer end of the trees' edges.
  const std::uint32_t last = gathers ? position : peer;
  const std::uint32_t reach = 2 * distance * (count - 1);
  EXAWARP_DCHECK(reach < n, reach, n);
  return exchanged(c, position, peer, phase,
                   {.first = position_at(c, std::uint64_t{last} + n - reach),
                    .count = count,
                    .stride = 2 * distance});
}

// The sum over d = 1, 2, 4 .. below n of a + w(ceil((n - d) / 2d) s).
Time time(const Collective& c, const StepCost& cost) {
  const Sequence s(c, cost);
  Time total;
  for (std::uint32_t distance = 1; distance < c.members; distance *= 2) {
    total = sum_to_end(total, s.blocks(blocks_of(c.members, distance)));
  }
  return total;
}

}  // namespace

namespace algorithms {
extern const AlgorithmDescription pat;
const AlgorithmDescription pat{
    .types = set_of(T::REDUCE_SCATTER, T::ALL_GATHER),
    .phase_count = doublings,
    .phase_of = one_each_way,
    .transfer_of = transfer_at,
    .time = time,
    .messages = messages_of_doublings,
};
}  // namespace algorithms

}  // namespace exawarp::model
