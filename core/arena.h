// Memory for state that lives as long as its partition: handed out in order, never freed
// singly, zeroed, and asked for in huge pages.
// Why: a run touches its LPs' states at random; with 4 KiB pages each touch also misses the TLB.
// Owner:     one thread at a time; no method locks.
// Invariant: a block keeps its address until the arena is destroyed.
// Cost:      allocate() is an addition and a comparison. Regions double from 2 to 64 MiB; pages
//            nobody has touched take no memory, whatever bytes_mapped() says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace exawarp::core {

class Arena {
 public:
  Arena() = default;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Zeroed memory. Requires bytes >= 1 and alignment a power of two, at most 2 MiB.
  // Throws SystemError where the system has no memory left.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment);

  // `count` zeroed objects. Requires count >= 1 and T to be usable without construction.
  template <class T>
  [[nodiscard]] T* allocate_array(std::size_t count) {
    return static_cast<T*>(allocate(count * sizeof(T), alignof(T)));
  }

  [[nodiscard]] std::uint64_t bytes_mapped() const { return bytes_mapped_; }
  [[nodiscard]] std::uint64_t bytes_allocated() const { return bytes_allocated_; }

 private:
  struct Region {
    std::byte* begin;
    std::size_t bytes;
  };
  std::byte* map_region(std::size_t bytes);

  std::byte* next_ = nullptr;  // the free part of the current region
  std::byte* end_ = nullptr;
  std::size_t region_bytes_ = std::size_t{2} << 20;  // of the next ordinary region
  std::uint64_t bytes_mapped_ = 0;
  std::uint64_t bytes_allocated_ = 0;
  std::vector<Region> regions_;
};

}  // namespace exawarp::core
