// Switches reduce and multicast, once up, once down: data goes into the network (no peer), a notice
// climbs a tree of 16 children and one with the result descends.
#include "model/collective/exchange.h"
#include "model/collective/tree_steps.h"

namespace exawarp::model {
namespace {

using core::sum_to_end;
using core::Time;
using T = schema::CollectiveType;

bool on_tree(T) { return true; }

TreeSteps steps(const Collective& c, std::uint32_t position, std::uint32_t) {
  return {c, position, {.shape = TreeShape::wide, .in_network = true}};
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
  const std::int64_t bytes = network_bytes(c);
  return sum_to_end(bytes == 0 ? Time{0} : wire_time(bytes, cost),
                    2 * tree_depth(TreeShape::wide, c.members) * cost.latency);
}

std::uint64_t messages(const Collective& c) {
  return 2 * std::uint64_t{c.members - 1};
}

}  // namespace

namespace algorithms {
extern const AlgorithmDescription in_network;
const AlgorithmDescription in_network{
    .types = set_of(T::ALL_REDUCE, T::REDUCE_SCATTER, T::ALL_GATHER, T::BARRIER, T::BROADCAST,
                    T::REDUCE),
    .place = 9,
    .on_tree = on_tree,
    .phase_count = phases_of,
    .phase_of = phase_at,
    .transfer_of = transfer_at,
    .time = time,
    .messages = messages,
};
}  // namespace algorithms

}  // namespace exawarp::model
