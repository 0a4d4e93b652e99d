// A pipeline over a tree: once it is full its time goes with the lanes, and with the depth of the
// tree before. Every second node of a binary tree in order is the tree without its lowest level, so
// that what is left has the distances of the levels above.
#include "model/device/large_trees.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "model/collective/cost.h"
#include "model/collective/double_tree_time.h"

namespace exawarp::model {
namespace {

using core::DeviceId;
using core::Time;
using core::WidePs;

constexpr std::uint32_t kNodesLeast = 16;  // of fewer, most are at the top, which has less to do

// Of a group: nodes in even distances, or members where each is its node, and the first lanes.
struct Part {
  std::uint32_t nodes, lanes;
};

Collective collective_of(const Collective& c, const Part& part) {
  Collective out = c;
  out.bytes = lane_bytes(c) * part.lanes;
  out.members = part.nodes * c.node_members;
  out.lanes = part.lanes;
  out.root = 0;
  return out;
}

WidePs time_of(const GroupTask& use, const Part& part) {
  const std::uint32_t in_node = use.c.node_members;
  const std::uint64_t nodes = use.c.members / in_node;
  std::vector<DeviceId> devices;
  for (std::uint64_t n = 0; n < part.nodes; ++n) {
    const auto first = static_cast<std::uint32_t>(n * nodes / part.nodes * in_node);
    for (std::uint32_t i = 0; i < in_node; ++i) devices.push_back(use.group.device(first + i));
  }
  const GroupNetwork group(use.group.network(), std::move(devices), false);
  const Collective c = collective_of(use.c, part);
  return GroupRun({c, use.choice, use.connection, group}, c.members).last_end().ps;
}

// What one of `steps` adds, times `more`.
WidePs beyond(WidePs known, WidePs below, std::uint32_t steps, std::uint32_t more) {
  return std::max<WidePs>(0, known - below) * more / steps;
}

}  // namespace

Time large_tree_time(const GroupTask& use, std::uint64_t messages_max) {
  const Collective& c = use.c;
  const auto messages = [&c](const Part& part) {
    return collective_messages(collective_of(c, part));
  };
  if (collective_messages(c) <= messages_max) return GroupRun(use, c.members).last_end();
  Part known{c.members / c.node_members, c.lanes};
  std::uint32_t levels = 0;
  for (; messages(known) > messages_max && known.nodes > 2 * kNodesLeast; ++levels) {
    known.nodes = without_a_level(c.type, known.nodes);
  }
  const std::uint32_t pairs = 2 * c.node_members;  // of lanes: two for each member of a node
  while (messages(known) > messages_max && known.lanes >= 3 * pairs) known.lanes -= pairs;

  const WidePs time = time_of(use, known);
  WidePs more = 0;
  if (levels > 0) {
    Part below = known;
    std::uint32_t between = 0;
    for (; below.nodes > kNodesLeast / 2 && between < kTreeLevelsBetween; ++between) {
      below.nodes = without_a_level(c.type, below.nodes);
    }
    more += beyond(time, time_of(use, below), between, levels);
  }
  if (known.lanes < c.lanes) {
    const Part fewer{known.nodes, known.lanes / pairs / 2 * pairs};
    more += beyond(time, time_of(use, fewer), known.lanes - fewer.lanes, c.lanes - known.lanes);
  }
  return core::time_to_end(time + more);
}

}  // namespace exawarp::model
