// What algorithms in which members exchange with partners have in common.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/time.h"
#include "model/collective/algorithm.h"
#include "model/collective/cost.h"

namespace exawarp::model {

constexpr bool gives_to_all(schema::CollectiveType type) {
  return type == schema::CollectiveType::ALL_REDUCE || type == schema::CollectiveType::BARRIER;
}

constexpr bool is_broadcast_or_reduce(schema::CollectiveType type) {
  return type == schema::CollectiveType::BROADCAST || type == schema::CollectiveType::REDUCE;
}

// Requires n >= 1.
constexpr std::uint32_t log2_ceil(std::uint32_t n) {
  return static_cast<std::uint32_t>(std::bit_width(n - 1));
}

// As many phases as doublings reach all members.
inline std::uint32_t doublings(const Collective& c, std::uint32_t, std::uint32_t) {
  return log2_ceil(c.members);
}

// All messages, where each member sends one a doubling.
inline std::uint64_t messages_of_doublings(const Collective& c) {
  return std::uint64_t{c.members} * log2_ceil(c.members);
}

// One message a phase each way.
inline Phase one_each_way(const Collective&, std::uint32_t, std::uint32_t, std::uint32_t) {
  return {1, 1};
}

inline std::uint32_t position_at(const Collective& c, std::uint64_t position) {
  return static_cast<std::uint32_t>(position % c.members);
}
// The same less than once round, without a division. Requires position < 2 members.
inline std::uint32_t position_near(const Collective& c, std::uint32_t position) {
  return position < c.members ? position : position - c.members;
}

// Whom a member sends to after `step` - 1 others: the members of its node, then those of the next
// node, and so on, of each first the one at its own place there. At no step two send to the same
// one. In the order of positions, members that are done with their own node, whose messages take an
// interface of their own, would all begin with the same one of the next.
inline std::uint32_t partner_at(const Collective& c, std::uint32_t position, std::uint32_t step) {
  const std::uint32_t in_node = c.node_members;
  if (in_node == 1) return position_near(c, position + step);
  const std::uint32_t node = (position / in_node + step / in_node) % (c.members / in_node);
  return node * in_node + (position + step) % in_node;
}
// How many positions `peer` is after `position`.
inline std::uint32_t distance_to(const Collective& c, std::uint32_t position, std::uint32_t peer) {
  return position_near(c, c.members - position + peer);
}

// Of `blocks`, from `position` to `peer`.
Transfer exchanged(const Collective& c, std::uint32_t position, std::uint32_t peer,
                   std::uint32_t peer_phase, const Blocks& blocks);
// The same in rounds, of which each phase is one: a message leaves when that of the round before
// has, as MPI_Sendrecv has it.
Transfer in_round(const Collective& c, std::uint32_t position, std::uint32_t peer,
                  std::uint32_t round, const Blocks& blocks);

// Times of messages in sequence on the network of one collective.
class Sequence {
 public:
  Sequence(const Collective& c, const StepCost& cost) : c_(c), cost_(cost) {}

  [[nodiscard]] core::Time wire(std::int64_t bytes) const { return wire_time(bytes, cost_); }
  [[nodiscard]] core::Time message(std::int64_t bytes) const {
    return core::sum_to_end(cost_.latency, wire(bytes));
  }
  [[nodiscard]] core::Time blocks(std::uint32_t count) const {
    return message(bytes_of(c_, {.first = 0, .count = count}));
  }
  [[nodiscard]] core::Time everything() const { return blocks(c_.members); }
  [[nodiscard]] core::Time latency() const { return cost_.latency; }

 private:
  const Collective& c_;
  const StepCost& cost_;
};

// n - 1 messages from each member to each other, each with `each` before it.
core::Time all_pairs_time(const Collective& c, const Sequence& s, core::Time each);

}  // namespace exawarp::model
