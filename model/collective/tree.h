// Trees over the numbers 0 to n - 1, computed from a number alone.
//
//   halving   0 has all of [0, n). The holder of a range of m hands the upper ceil(m / 2) of it to
//             their first, keeps the rest, and goes on: a binomial tree, depth ceil(log2 n), every
//             subtree a range. The larger part goes to the child, so that a broadcast takes
//             ceil(log2 n) messages in sequence for every n.
//   chain     0, 1, 2, ...
//   wide      parent of v: (v - 1) / 16, children 16 v + 1, ...
//   binary    in-order: odd numbers are leaves, v's height is the number of its trailing zeros;
//             0 is the root, with one child (NVIDIA NCCL, src/graph/trees.cc; the tree of Sanders,
//             Speck, Traeff: "Two-tree algorithms for full bandwidth broadcast, reduction and
//             scan", Parallel Computing 2009)
//   mirrored  the binary tree with the parts of leaves and inner nodes exchanged: of n - 1 - v
//             where n is even, of v - 1 where it is odd. Whoever is inner here is a leaf there.
#pragma once

#include <array>
#include <cstdint>

namespace exawarp::model {

enum class TreeShape : std::uint8_t { halving, chain, wide, binary, mirrored };

constexpr std::uint32_t kTreeChildrenMax = 32;

struct TreeNode {
  std::uint32_t parent = 0xffffffff;  // kNoMember: the root
  std::uint32_t part = 1;             // halving: numbers below, itself included
  std::uint32_t children = 0;
  std::array<std::uint32_t, kTreeChildrenMax> child{};       // in the order they are sent to
  std::array<std::uint32_t, kTreeChildrenMax> child_part{};  // halving: numbers below each

  void add(std::uint32_t v, std::uint32_t size = 1) {
    child[children] = v;
    child_part[children++] = size;
  }
};

// Requires v < n. Cost: O(log n).
TreeNode tree_node(TreeShape shape, std::uint32_t n, std::uint32_t v);

// The longest path from the root. Cost: O(log n).
std::uint32_t tree_depth(TreeShape shape, std::uint32_t n);

}  // namespace exawarp::model
