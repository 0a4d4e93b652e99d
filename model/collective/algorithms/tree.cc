// A binomial tree: the holder of a range of positions hands its larger half on (tree.h, halving).
#include "model/collective/exchange.h"

namespace exawarp::model {
namespace {

using core::product_to_end;
using core::sum_to_end;
using core::Time;
using T = schema::CollectiveType;

constexpr std::uint32_t kTypes =
    set_of(T::ALL_REDUCE, T::BARRIER, T::BROADCAST, T::REDUCE, T::GATHER, T::SCATTER);

TreeKind tree_of(std::uint32_t) { return {.shape = TreeShape::halving}; }

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
    .types = kTypes,
    .place = 4,
    .tree_types = kTypes,
    .tree_of = tree_of,
    .time = time,
    .messages = messages,
};
}  // namespace algorithms

}  // namespace exawarp::model
