// Where there is one root, it is number 0 of the tree; numbers go on from its place in the order.
#include "model/collective/tree_steps.h"

#include "core/check.h"

namespace exawarp::model {

using schema::CollectiveType;

// An all-reduce over two trees has two roots. Where there is one root, the two trees are of the
// other members, and it is the parent of both (Sanders et al.).
TreeSteps::TreeSteps(const Collective& c, std::uint32_t position, const TreeKind& kind)
    : c_(c),
      kind_(kind),
      order_(c, kind.turn),
      origin_(is_rooted(c.type) ? order_.number_of(c.root) : 0),
      v_(static_cast<std::uint32_t>(
          (std::uint64_t{order_.number_of(position)} + c.members - origin_) % c.members)) {
  if (kind.two_trees && is_rooted(c.type) && c.members > 1) {
    attach_to_root(v_);
  } else {
    node_ = tree_node(kind.shape, c.members, v_);
  }
}

void TreeSteps::attach_to_root(std::uint32_t v) {
  const TreeShape shape = kind_.shape;
  const std::uint32_t others = c_.members - 1;
  if (v == 0) {
    const bool mirrored = shape == TreeShape::mirrored;
    node_.add(1 + (mirrored ? (others % 2 == 0 ? others - 1 : (others > 1 ? 1 : 0)) : 0));
    return;
  }
  node_ = tree_node(shape, others, v - 1);
  node_.parent = has_parent() ? node_.parent + 1 : 0;
  for (std::uint32_t i = 0; i < node_.children; ++i) ++node_.child[i];
}

bool TreeSteps::goes_up() const {
  return kind_.in_network || c_.type == CollectiveType::ALL_REDUCE ||
         c_.type == CollectiveType::BARRIER || c_.type == CollectiveType::REDUCE ||
         c_.type == CollectiveType::GATHER;
}

bool TreeSteps::goes_down() const {
  return kind_.in_network || c_.type == CollectiveType::ALL_REDUCE ||
         c_.type == CollectiveType::BARRIER || c_.type == CollectiveType::BROADCAST ||
         c_.type == CollectiveType::SCATTER;
}

Phase TreeSteps::phase(std::uint32_t phase) const {
  const std::uint32_t above = has_parent() ? 1 : 0;
  const bool both = goes_up() && goes_down();
  if (phase == 0) {
    const std::uint32_t into_network = kind_.in_network ? 1 : 0;
    return {into_network, goes_up() ? node_.children : above};
  }
  if (phase == 1 && goes_up()) return {above, both ? above : 0};
  return {node_.children, 0};
}

Transfer TreeSteps::transfer(std::uint32_t phase, std::uint32_t index) const {
  if (phase == 0) {
    return {.bytes = network_bytes(c_), .blocks = {.first = 0, .count = c_.members}};
  }
  return phase == 1 && goes_up() ? up() : down(index);
}

Transfer TreeSteps::up() const {
  Transfer t{.peer = position_of(node_.parent),
             .peer_phase = 0,
             .blocks = {0, c_.members},
             .queue = queue(0)};
  if (kind_.in_network) return t;  // a notice; phase 0 sent the data
  if (c_.type == CollectiveType::GATHER) t.blocks = range(v_, node_.part);
  t.bytes = t.bytes_received = bytes_of(c_, t.blocks);
  return t;
}

Transfer TreeSteps::down(std::uint32_t index) const {
  EXAWARP_DCHECK(index < node_.children, index, node_.children);
  const std::uint32_t child = node_.child[index];
  Transfer t{.peer = position_of(child),
             .peer_phase = goes_up() ? 1u : 0u,
             .blocks = {0, c_.members},
             .queue = queue(1 + index),
             .one_by_one = kind_.shape == TreeShape::halving};
  if (kind_.in_network) {
    t.bytes_received = network_bytes(c_);
    return t;
  }
  if (c_.type == CollectiveType::SCATTER) t.blocks = range(child, node_.child_part[index]);
  t.bytes = t.bytes_received = bytes_of(c_, t.blocks);
  return t;
}

Blocks TreeSteps::range(std::uint32_t v, std::uint32_t part) const {
  return {.first = position_of(v), .count = part};
}

// All-reduce as NVLink SHARP does it: each member reads one n-th of the result from the switch,
// which fetches that part from every member, and writes it back for the switch to multicast.
std::int64_t network_bytes(const Collective& c) {
  const std::int64_t bytes = lane_bytes(c), n = c.members;
  switch (c.type) {
    case CollectiveType::ALL_REDUCE: return bytes + (bytes + n - 1) / n;
    case CollectiveType::ALL_GATHER: return n * bytes;
    case CollectiveType::BARRIER: return 0;
    default: return bytes;
  }
}

}  // namespace exawarp::model
