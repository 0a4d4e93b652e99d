// What a double binary tree takes alone, by carrying out its messages: its two trees and their two
// directions queue at each member's interface, in an order that no formula for every n gives.
#pragma once

#include <cstdint>

#include "core/time.h"
#include "model/collective/collective.h"

namespace exawarp::model {

// Messages that are carried out at most, 0.2 to 0.5 us each: enough for 16 lanes of a group of
// 32,768, which has 2 lanes (n - 1) of them in an all-reduce.
constexpr std::uint64_t kTreeMessagesMax = std::uint64_t{1} << 20;

// What a level adds is taken from as many: one by one they differ, as messages just meet.
constexpr std::uint32_t kTreeLevelsBetween = 4;

// Of `positions` in a tree, as many as make one less deep by one; a root that is above both trees
// of a rooted collective stays. Requires at least 2 positions.
constexpr std::uint32_t without_a_level(schema::CollectiveType type, std::uint32_t positions) {
  const std::uint32_t above = is_rooted(type) ? 1 : 0;
  return (positions - 1 - above) / 2 + 1 + above;
}

// On the network of cost.h; `wire` is w of a lane's bytes, above 0. Messages that come at the same
// time are received in the order of their senders' positions, as by devices in that order. Exact
// up to `messages_max`; above it, continued from smaller groups by the levels of their trees, as is
// right within a tenth. Each thread keeps its last 64 results. Requires algorithm double_tree, at
// least 2 members.
core::Time double_tree_time(const Collective& c, core::Time wire, core::Time latency,
                            std::uint64_t messages_max = kTreeMessagesMax);

}  // namespace exawarp::model
