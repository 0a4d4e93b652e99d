// A member's place in each shape of tree, by its number alone: the halving tree by bisecting the
// range of numbers until the member is its holder, the double tree by its lowest set bit.
#include "model/collective/tree.h"

#include <algorithm>
#include <bit>

#include "model/collective/collective.h"

namespace exawarp::model {
namespace {

TreeNode halving_node(std::uint32_t n, std::uint32_t v) {
  TreeNode node;
  std::uint32_t first = 0, size = n;
  while (first != v) {
    const std::uint32_t kept = size / 2;
    if (v < first + kept) {
      size = kept;
    } else {
      node.parent = first;
      first += kept;
      size -= kept;
    }
  }
  node.part = size;
  for (; size > 1; size /= 2) node.add(v + size / 2, size - size / 2);
  return node;
}

TreeNode chain_node(std::uint32_t n, std::uint32_t v) {
  TreeNode node;
  if (v > 0) node.parent = v - 1;
  if (v + 1 < n) node.add(v + 1);
  return node;
}

TreeNode wide_node(std::uint32_t n, std::uint32_t v) {
  TreeNode node;
  if (v > 0) node.parent = (v - 1) / kNetworkFanOut;
  const std::uint64_t first = std::uint64_t{v} * kNetworkFanOut + 1;
  for (std::uint64_t child = first; child < std::min<std::uint64_t>(first + kNetworkFanOut, n);
       ++child) {
    node.add(static_cast<std::uint32_t>(child));
  }
  return node;
}

// v's low bit is its height h: children v - 2^(h-1) and v + 2^(h-1), or, where that is none, the
// first that is among v + 2^(h-2), v + 2^(h-3), ...; the parent is the one that has v as a child.
TreeNode binary_node(std::uint32_t n, std::uint32_t v) {
  TreeNode node;
  if (v == 0) {
    if (n > 1) node.add(std::bit_floor(n - 1));
    return node;
  }
  const std::uint32_t low = v & (~v + 1);
  const std::uint32_t above = (v ^ low) | (low << 1);
  node.parent = above < n ? above : v ^ low;
  if (low > 1) node.add(v - low / 2);
  for (std::uint32_t step = low / 2; step > 0; step /= 2) {
    if (step >= n - v) continue;
    node.add(v + step);
    break;
  }
  return node;
}

TreeNode mirrored_node(std::uint32_t n, std::uint32_t v) {
  const auto there = [n](std::uint32_t u) {
    return n % 2 == 0 ? n - 1 - u : (u == 0 ? n - 1 : u - 1);
  };
  const auto back = [n](std::uint32_t u) {
    return n % 2 == 0 ? n - 1 - u : (u + 1 == n ? 0 : u + 1);
  };
  TreeNode node = binary_node(n, there(v));
  if (node.parent != kNoMember) node.parent = back(node.parent);
  for (std::uint32_t i = 0; i < node.children; ++i) node.child[i] = back(node.child[i]);
  return node;
}

}  // namespace

TreeNode tree_node(TreeShape shape, std::uint32_t n, std::uint32_t v) {
  switch (shape) {
    case TreeShape::halving: return halving_node(n, v);
    case TreeShape::chain: return chain_node(n, v);
    case TreeShape::wide: return wide_node(n, v);
    case TreeShape::binary: return binary_node(n, v);
    case TreeShape::mirrored: return mirrored_node(n, v);
  }
  return {};
}

std::uint32_t tree_depth(TreeShape shape, std::uint32_t n) {
  if (n <= 1) return 0;
  switch (shape) {
    case TreeShape::halving: return static_cast<std::uint32_t>(std::bit_width(n - 1));
    case TreeShape::chain: return n - 1;
    case TreeShape::wide: {
      std::uint32_t depth = 0;
      for (std::uint32_t v = n - 1; v > 0; v = (v - 1) / kNetworkFanOut) ++depth;
      return depth;
    }
    case TreeShape::binary:
    case TreeShape::mirrored: return static_cast<std::uint32_t>(std::bit_width(n - 1));
  }
  return 0;
}

}  // namespace exawarp::model
