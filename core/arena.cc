#include "core/arena.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/check.h"
#include "core/error.h"

namespace exawarp::core {
namespace {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
constexpr std::size_t kRegionBytesMax = std::size_t{64} << 20;

constexpr std::uintptr_t round_up(std::uintptr_t value, std::size_t power_of_two) {
  return (value + power_of_two - 1) & ~(std::uintptr_t{power_of_two} - 1);
}

std::byte* aligned_up(std::byte* pointer, std::size_t alignment) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  return pointer + (round_up(address, alignment) - address);
}

}  // namespace

Arena::~Arena() {
  for (const Region& region : regions_) munmap(region.begin, region.bytes);
}

void* Arena::allocate(std::size_t bytes, std::size_t alignment) {
  EXAWARP_CHECK(bytes >= 1 && alignment >= 1 && alignment <= kHugePageBytes &&
                    (alignment & (alignment - 1)) == 0,
                bytes, alignment);
  std::byte* at = nullptr;
  if (next_ != nullptr) at = aligned_up(next_, alignment);
  if (at == nullptr || at > end_ || static_cast<std::size_t>(end_ - at) < bytes) {
    if (bytes > kRegionBytesMax / 2) {  // its own region; the current one stays in use
      bytes_allocated_ += bytes;
      return map_region(bytes);
    }
    while (region_bytes_ < bytes) region_bytes_ *= 2;
    at = map_region(region_bytes_);
    end_ = at + region_bytes_;
    region_bytes_ = std::min(2 * region_bytes_, kRegionBytesMax);
  }
  next_ = at + bytes;
  bytes_allocated_ += bytes;
  return at;
}

// The kernel promises page alignment only, so map one huge page more and trim both ends.
std::byte* Arena::map_region(std::size_t bytes) {
  const std::size_t rounded = round_up(bytes, kHugePageBytes);
  regions_.reserve(regions_.size() + 1);
  void* raw = MAP_FAILED;
  if (rounded >= bytes && rounded + kHugePageBytes > rounded)
    raw = mmap(nullptr, rounded + kHugePageBytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  else
    errno = ENOMEM;
  if (raw == MAP_FAILED)
    throw SystemError(
        fmt::format("cannot map {} MiB of memory: {}; more ranks, or a smaller "
                    "study, would need less",
                    bytes >> 20, std::strerror(errno)));
  auto* const begin = static_cast<std::byte*>(raw);
  std::byte* const region = aligned_up(begin, kHugePageBytes);
  const auto before = static_cast<std::size_t>(region - begin);
  if (before != 0) munmap(begin, before);
  if (before != kHugePageBytes) munmap(region + rounded, kHugePageBytes - before);
  // A hint: a kernel without transparent huge pages refuses, and small pages serve as well.
  static_cast<void>(madvise(region, rounded, MADV_HUGEPAGE));
  regions_.push_back({region, rounded});
  bytes_mapped_ += rounded;
  return region;
}

}  // namespace exawarp::core
