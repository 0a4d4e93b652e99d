// A random permutation of 0 .. size - 1 as a function: no table, O(1) memory, in both directions.
//
// A Feistel network on the least power of four that holds all numbers is a bijection whatever its
// round function is (Luby, Rackoff: "How to construct pseudorandom permutations from pseudorandom
// functions", SIAM J. Comput. 17, 1988); four rounds of a seeded hash make it a random one. A
// number that falls outside is sent through again until it falls inside (cycle walking: Black,
// Rogaway: "Ciphers with arbitrary finite domains", CT-RSA 2002), which keeps it a bijection. The
// power is less than four times the size, so that takes fewer than four rounds on average.
// Cost: 12 mixes of 64 bits a round.
#pragma once

#include <bit>
#include <cstdint>

#include "core/random.h"

namespace exawarp::core {

class Permutation {
 public:
  // Requires size >= 1.
  constexpr Permutation(std::uint32_t size, std::uint64_t seed)
      : seed_(seed),
        size_(size),
        half_bits_((static_cast<std::uint32_t>(std::bit_width(size - 1)) + 1) / 2) {}

  [[nodiscard]] constexpr std::uint32_t size() const { return size_; }

  // Both require i < size().
  [[nodiscard]] constexpr std::uint32_t forward(std::uint32_t i) const {
    do {
      i = scrambled(i);
    } while (i >= size_);
    return i;
  }
  [[nodiscard]] constexpr std::uint32_t inverse(std::uint32_t i) const {
    do {
      i = unscrambled(i);
    } while (i >= size_);
    return i;
  }

 private:
  static constexpr std::uint32_t kRounds = 4;

  [[nodiscard]] constexpr std::uint32_t mixed(std::uint32_t round, std::uint32_t half) const {
    return static_cast<std::uint32_t>(stream_of(seed_, round, half)) & mask();
  }
  [[nodiscard]] constexpr std::uint32_t mask() const { return (1u << half_bits_) - 1; }

  [[nodiscard]] constexpr std::uint32_t scrambled(std::uint32_t i) const {
    std::uint32_t left = i >> half_bits_, right = i & mask();
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      const std::uint32_t next = left ^ mixed(round, right);
      left = right;
      right = next;
    }
    return left << half_bits_ | right;
  }
  [[nodiscard]] constexpr std::uint32_t unscrambled(std::uint32_t i) const {
    std::uint32_t left = i >> half_bits_, right = i & mask();
    for (std::uint32_t round = kRounds; round-- > 0;) {
      const std::uint32_t before = right ^ mixed(round, left);
      right = left;
      left = before;
    }
    return left << half_bits_ | right;
  }

  std::uint64_t seed_;
  std::uint32_t size_;
  std::uint32_t half_bits_;  // of a number's two halves
};

}  // namespace exawarp::core
