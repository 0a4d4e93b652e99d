// NVLink SHARP inside nodes and a double binary tree across them (NCCL's NVLSTree), for all-reduce.
//
// Each lane has a leader in every node, the lanes' number modulo the members of a node. The node's
// switch reduces what all members read out of their memory and hands the sum to the leader; the
// leaders of a lane reduce and spread it along a binary tree over the nodes, its mirror image in
// every second lane; the leader writes the result to the switch, which multicasts it:
//
//   phases of others   0: b bytes to the leader, wait for the result
//   of a leader        0: wait for its node and for the children;  1: up, wait for the parent;
//                      2: to the children, then to its node
//
// The switch's part stands in the bytes: of g members' b bytes each a leader's interface receives b
// in all, and the result comes from the switch. What a leader itself puts in, its own data and the
// result, is counted with what the others do, so that a member's interface sends B + B/g and
// receives B in all, as in NVLS inside one node. Lanes with less than all of the data, `chunk`, are
// a pipeline. With one member a node the trees are those of double_tree. Packets that
// go inside nodes carry all b bytes to the leader: the switch's part is not modelled there.
#include <algorithm>

#include "core/check.h"
#include "model/collective/double_tree_time.h"
#include "model/collective/exchange.h"

namespace exawarp::model {
namespace {

using core::product_to_end;
using core::sum_to_end;
using core::Time;
using T = schema::CollectiveType;

// A member's place in a lane: its node's in the tree, and the leader of the node.
struct Place {
  Place(const Collective& c, std::uint32_t position, std::uint32_t lane)
      : in_node(c.node_members), leader_at(lane % in_node), node(position / in_node) {
    leads = position % in_node == leader_at;
    if ((lane / in_node + leader_at) % 2 != 0) shape = TreeShape::mirrored;
    tree = tree_node(shape, c.members / in_node, node);
  }
  [[nodiscard]] bool has_parent() const { return tree.parent != kNoMember; }
  [[nodiscard]] std::uint32_t leader_of(std::uint32_t of_node) const {
    return of_node * in_node + leader_at;
  }
  // The others of the node, in turn after the leader.
  [[nodiscard]] std::uint32_t other(std::uint32_t index) const {
    return node * in_node + (leader_at + 1 + index) % in_node;
  }

  std::uint32_t in_node, leader_at, node;
  bool leads = false;
  TreeShape shape = TreeShape::binary;
  TreeNode tree;
};

std::uint32_t phases_of(const Collective& c, std::uint32_t position, std::uint32_t lane) {
  return Place(c, position, lane).leads ? 3 : 1;
}

Phase phase_at(const Collective& c, std::uint32_t position, std::uint32_t lane,
               std::uint32_t phase) {
  const Place place(c, position, lane);
  const std::uint32_t above = place.has_parent() ? 1 : 0, others = place.in_node - 1;
  if (!place.leads) return {1, 1};
  if (phase == 0) return {0, others + place.tree.children};
  return phase == 1 ? Phase{above, above} : Phase{place.tree.children + others, 0};
}

Transfer transfer_at(const Collective& c, std::uint32_t position, std::uint32_t lane,
                     std::uint32_t phase, std::uint32_t index) {
  const Place place(c, position, lane);
  const std::int64_t bytes = lane_bytes(c);
  const std::int64_t others = place.in_node - 1;
  Transfer t{.bytes = bytes, .bytes_received = bytes, .blocks = {0, c.members}};
  if (!place.leads) {
    t.peer = place.leader_of(place.node);
    t.bytes = (bytes * (others + 2) + others - 1) / others;
    t.bytes_received = (bytes + others - 1) / others;
  } else if (phase == 1) {
    t.peer = place.leader_of(place.tree.parent);
    t.queue = tree_queue(place.shape, 0);
  } else if (index < place.tree.children) {
    t.peer = place.leader_of(place.tree.child[index]);
    t.queue = tree_queue(place.shape, 1 + index);
    t.peer_phase = 1;
  } else {
    EXAWARP_DCHECK(index - place.tree.children < others, index, others);
    t.peer = place.other(index - place.tree.children);
    t.bytes = 0;
    t.by_switch = true;
  }
  return t;
}

// Where each node has one member, by carrying it out. Inside one node no queue but the interfaces
// is busy all the time: all lanes' bytes, and two messages. The rest is for devices to say.
Time time(const Collective& c, const StepCost& cost) {
  if (c.node_members == 1) return double_tree_time(c, wire_time(lane_bytes(c), cost), cost.latency);
  const Time wire = wire_time(lane_bytes(c), cost);
  return sum_to_end(product_to_end(c.lanes + c.lanes / c.node_members, wire), 2 * cost.latency);
}

std::uint64_t messages(const Collective& c) {
  const std::uint64_t g = c.node_members, nodes = c.members / g;
  return c.lanes * 2 * (nodes * (g - 1) + (nodes - 1));
}

}  // namespace

namespace algorithms {
extern const AlgorithmDescription nvls_tree;
const AlgorithmDescription nvls_tree{
    .types = set_of(T::ALL_REDUCE),
    .place = 9,
    .uses_lanes = true,
    .lanes_in_pairs = true,
    .by_nodes = true,
    .phase_count = phases_of,
    .phase_of = phase_at,
    .transfer_of = transfer_at,
    .time = time,
    .messages = messages,
};
}  // namespace algorithms

}  // namespace exawarp::model
