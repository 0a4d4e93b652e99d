// Algorithms that move data up and down trees; collective.h is what others include.
#pragma once

#include "model/collective/collective.h"
#include "model/collective/member_order.h"
#include "model/collective/tree.h"

namespace exawarp::model {

// Of a member of two trees, Transfer::queue: to its parent in the tree of `shape`, 0, or to a child
// there, from 1 on.
constexpr std::uint8_t tree_queue(TreeShape shape, std::uint32_t neighbour) {
  const std::uint32_t first = shape == TreeShape::mirrored ? kQueuesMax / 2 : 0;
  return static_cast<std::uint8_t>(first + neighbour);
}

struct TreeKind {
  TreeShape shape = TreeShape::halving;
  bool two_trees = false;   // of a pair: a root stands above both
  bool in_network = false;  // data goes into the network, notices along the tree
  std::uint32_t turn = 0;   // chain: of its order through nodes
};

// One member of one lane of a tree algorithm (tree, double_tree, in_network; ring for broadcast
// and reduce, as a chain). A member that both gathers and spreads goes through three phases
// (wait for the children; up, wait for the parent; down), one that does either through two. In a
// `tree` children are sent to one by one, as MPI's binomial trees send to them: the first passes on
// what it has while the others wait.
class TreeSteps {
 public:
  TreeSteps(const Collective& c, std::uint32_t position, const TreeKind& kind);

  [[nodiscard]] std::uint32_t phases() const { return goes_up() && goes_down() ? 3 : 2; }
  [[nodiscard]] Phase phase(std::uint32_t phase) const;
  [[nodiscard]] Transfer transfer(std::uint32_t phase, std::uint32_t index) const;

 private:
  [[nodiscard]] bool goes_up() const;
  [[nodiscard]] bool goes_down() const;
  [[nodiscard]] bool has_parent() const { return node_.parent != kNoMember; }
  [[nodiscard]] Transfer up() const;
  [[nodiscard]] Transfer down(std::uint32_t child) const;
  [[nodiscard]] std::uint8_t queue(std::uint32_t neighbour) const {
    return kind_.two_trees ? tree_queue(kind_.shape, neighbour) : std::uint8_t{0};
  }
  [[nodiscard]] Blocks range(std::uint32_t v, std::uint32_t part) const;
  [[nodiscard]] std::uint32_t position_of(std::uint32_t v) const {
    return order_.position_of(
        static_cast<std::uint32_t>((std::uint64_t{v} + origin_) % c_.members));
  }
  void attach_to_root(std::uint32_t v);

  const Collective& c_;
  TreeKind kind_;
  MemberOrder order_;
  std::uint32_t origin_;  // where in that order number 0 is
  std::uint32_t v_;       // the member's number in the tree
  TreeNode node_;
};

// Bytes that an interface exchanges with a network that combines: it is busy, both ways, for the
// longer of what its member puts in and what it takes out.
std::int64_t network_bytes(const Collective& c);

}  // namespace exawarp::model
