// Which random cases a test draws.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <vector>

namespace exawarp::tests {

// Seeds `first` to `last`, moved on by EXAWARP_SEEDS_FROM: scripts/nightly draws other cases every
// night. What fails names its seed; EXAWARP_SEEDS_FROM=<seed - first> begins with it.
inline std::vector<std::uint64_t> case_seeds(std::uint64_t first, std::uint64_t last) {
  const char* const from = std::getenv("EXAWARP_SEEDS_FROM");
  const std::uint64_t moved = from == nullptr ? 0 : std::strtoull(from, nullptr, 10);
  std::vector<std::uint64_t> all;
  for (std::uint64_t seed = first; seed <= last; ++seed) all.push_back(moved + seed);
  return all;
}

}  // namespace exawarp::tests
