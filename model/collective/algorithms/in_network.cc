// Switches reduce and multicast, once up, once down: data goes into the network (no peer), a notice
// climbs a tree of 16 children and one with the result descends.
#include "model/collective/exchange.h"

namespace exawarp::model {
namespace {

using core::sum_to_end;
using core::Time;
using T = schema::CollectiveType;

constexpr std::uint32_t kTypes =
    set_of(T::ALL_REDUCE, T::REDUCE_SCATTER, T::ALL_GATHER, T::BARRIER, T::BROADCAST, T::REDUCE);

TreeKind tree_of(std::uint32_t) { return {.shape = TreeShape::wide, .in_network = true}; }

Time time(const Collective& c, const StepCost& cost) {
  const std::int64_t bytes = network_bytes(c);
  return sum_to_end(bytes == 0 ? Time{0} : wire_time(bytes, cost),
                    2 * tree_depth(TreeShape::wide, c.members) * cost.latency);
}

std::uint64_t messages(const Collective& c) { return 2 * std::uint64_t{c.members - 1}; }

}  // namespace

namespace algorithms {
extern const AlgorithmDescription in_network;
const AlgorithmDescription in_network{
    .types = kTypes,
    .place = 9,
    .tree_types = kTypes,
    .tree_of = tree_of,
    .time = time,
    .messages = messages,
};
}  // namespace algorithms

}  // namespace exawarp::model
