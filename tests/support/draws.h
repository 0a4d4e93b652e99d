// Random numbers of a test's case: a function of its seed, of what they are for, and of how many
// were drawn.
#pragma once

#include <cstdint>

#include "core/random.h"

namespace exawarp::tests {

class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t purpose) : stream_(core::stream_of(seed, purpose)) {}

  // From 0 to n - 1. Requires 0 < n <= 2^32.
  std::uint32_t below(std::uint64_t n) {
    return static_cast<std::uint32_t>(core::random_bits(stream_, draws_++) % n);
  }
  std::uint32_t between(std::uint32_t least, std::uint32_t most) {
    return least + below(most - least + 1);
  }
  bool chance(std::uint32_t one_in) { return below(one_in) == 0; }

 private:
  std::uint64_t stream_;
  std::uint64_t draws_ = 0;
};

}  // namespace exawarp::tests
