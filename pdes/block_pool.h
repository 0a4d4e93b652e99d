// Memory of the undoable containers: blocks of power-of-two sizes with a free list each.
// Owner: one partition.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/arena.h"

namespace exawarp::pdes {

class BlockPool {
 public:
  static constexpr std::uint32_t kLeastClass = 4;  // 16 bytes
  static constexpr std::uint32_t kMostClass = 30;  // 1 GiB

  // A block of 2^size_class bytes, aligned to 16. Requires size_class <= kMostClass.
  [[nodiscard]] void* allocate(std::uint32_t size_class);
  void release(void* block, std::uint32_t size_class);

 private:
  core::Arena arena_;
  std::array<std::vector<void*>, kMostClass + 1> free_;
};

// The class of the smallest block that holds `bytes`. Requires bytes > 0.
constexpr std::uint32_t size_class_of(std::size_t bytes) {
  return std::max(BlockPool::kLeastClass, static_cast<std::uint32_t>(std::bit_width(bytes - 1)));
}

}  // namespace exawarp::pdes
