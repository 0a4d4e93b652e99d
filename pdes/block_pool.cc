#include "pdes/block_pool.h"

#include <algorithm>

#include "core/check.h"

namespace exawarp::pdes {

void* BlockPool::allocate(std::uint32_t size_class) {
  EXAWARP_CHECK(size_class <= kMostClass, size_class);
  size_class = std::max(size_class, kLeastClass);
  auto& free = free_[size_class];
  if (free.empty()) return arena_.allocate(std::size_t{1} << size_class, 16);
  void* block = free.back();
  free.pop_back();
  return block;
}

void BlockPool::release(void* block, std::uint32_t size_class) {
  free_[std::max(size_class, kLeastClass)].push_back(block);
}

}  // namespace exawarp::pdes
