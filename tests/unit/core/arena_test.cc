#include "core/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"

namespace exawarp::tests {
namespace {

using namespace core;

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST(Arena, AnUnusedArenaMapsNothing) {
  const Arena arena;
  EXPECT_EQ(arena.bytes_mapped(), 0u);
}

TEST(Arena, BlocksAreAlignedZeroedAndApart) {
  Arena arena;
  const std::byte* last_end = nullptr;
  for (const std::size_t alignment : {1u, 16u, 64u, 4096u}) {
    auto* block = static_cast<std::byte*>(arena.allocate(100, alignment));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0u);
    EXPECT_TRUE(std::all_of(block, block + 100, [](std::byte b) { return b == std::byte{0}; }));
    EXPECT_GE(block, last_end);
    std::memset(block, 0xff, 100);
    last_end = block + 100;
  }
  EXPECT_EQ(arena.bytes_allocated(), 400u);
}

TEST(Arena, RegionsStartOnAHugePage) {
  Arena arena;
  const void* first = arena.allocate(1, 1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % (2 * kMiB), 0u);
  EXPECT_EQ(arena.bytes_mapped() % (2 * kMiB), 0u);
}

TEST(Arena, AddressesSurviveGrowth) {
  Arena arena;
  auto* first = arena.allocate_array<std::uint64_t>(4);
  first[3] = 7;
  for (int i = 0; i < 40; ++i) static_cast<void>(arena.allocate(kMiB, 64));
  EXPECT_EQ(first[3], 7u);
  EXPECT_GE(arena.bytes_mapped(), 40 * kMiB);
}

TEST(Arena, ABlockLargerThanARegionLeavesTheCurrentRegionInUse) {
  Arena arena;
  auto* small = static_cast<std::byte*>(arena.allocate(64, 64));
  auto* large = static_cast<std::byte*>(arena.allocate(100 * kMiB, 64));
  large[100 * kMiB - 1] = std::byte{1};
  EXPECT_EQ(arena.allocate(64, 64), small + 64);
}

TEST(Arena, MoreThanTheSystemHasIsASystemError) {
  Arena arena;
  EXPECT_THROW(static_cast<void>(arena.allocate(std::size_t{1} << 60, 64)), SystemError);
}

}  // namespace
}  // namespace exawarp::tests
