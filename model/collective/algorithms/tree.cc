// A binomial tree: the holder of a range of positions hands its larger half on (tree.h, halving).
#include "model/collective/exchange.h"
#include "model/collective/tree_steps.h"

namespace exawarp::model {
namespace {

using core::product_to_end;
using core::sum_to_end;
using core::Time;
using T = schema::CollectiveType;

bool on_tree(T) { return true; }

TreeSteps steps(const Collective& c, std::uint32_t position, std::uint32_t) {
  return {c, position, {.shape = TreeShape::halving}};
}

std::uint32_t phases_of(const Collective& c, std::uint32_t position, std::uint32_t lane) {
  return steps(c, position, lane).phases();
}

Phase phase_at(const Collective& c, std::uint32_t position, std::uint32_t lane,
               std::uint32_t phase) {
  return steps(c, position, lane).phase(phase);
}

Transfer transfer_at(const Collective& c, std::uint32_t position, std::uint32_t lane,
                     std::uint32_t phase, std::uint32_t index) {
  return steps(c, position, lane).transfer(phase, index);
}

Time time(const Collective& c, const StepCost& cost) {
  const Sequence s(c, cost);
  if (c.type != T::GATHER && c.type != T::SCATTER) {
    return product_to_end((gives_to_all(c.type) ? 2 : 1) * log2_ceil(c.members), s.everything());
  }
  Time total;
  for (std::uint32_t m = c.members; m > 1;) {
    m -= m / 2;
    total = sum_to_end(total, s.blocks(m));
  }
  return total;
}

std::uint64_t messages(const Collective& c) {
  return c.lanes * (gives_to_all(c.type) ? 2u : 1u) * std::uint64_t{c.members - 1};
}

}  // namespace

namespace algorithms {
extern const AlgorithmDescription tree;
const AlgorithmDescription tree{
    .types = set_of(T::ALL_REDUCE, T::BARRIER, T::BROADCAST, T::REDUCE, T::GATHER, T::SCATTER),
    .place = 4,
    .on_tree = on_tree,
    .phase_count = phases_of,
    .phase_of = phase_at,
    .transfer_of = transfer_at,
    .time = time,
    .messages = messages,
};
}  // namespace algorithms

}  // namespace exawarp::model
