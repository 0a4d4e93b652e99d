// How a lane of a ring or chain goes through members that share nodes.
#pragma once

#include <bit>
#include <cstdint>

#include "model/collective/collective.h"

namespace exawarp::model {

// Nodes in the order of positions, and in each its members from the `turn`-th on, so that lanes
// with different turns leave a node by different members. Turn 0: the order of positions itself.
class MemberOrder {
 public:
  MemberOrder(const Collective& c, std::uint32_t turn)
      : members_(c.node_members), is_power_(std::has_single_bit(members_)), turn_(inside(turn)) {}

  [[nodiscard]] std::uint32_t number_of(std::uint32_t position) const {
    const std::uint32_t at = inside(position);
    return position - at + inside(at + members_ - turn_);
  }
  [[nodiscard]] std::uint32_t position_of(std::uint32_t number) const {
    const std::uint32_t at = inside(number);
    return number - at + inside(at + turn_);
  }

 private:
  // Modulo the members of a node, which are most often a power of two: each message asks.
  [[nodiscard]] std::uint32_t inside(std::uint32_t n) const {
    return is_power_ ? n & (members_ - 1) : n % members_;
  }

  std::uint32_t members_;
  bool is_power_;
  std::uint32_t turn_;
};

}  // namespace exawarp::model
