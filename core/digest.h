// The digest that proves two runs equal.
// Idea: each committed event and each final state contributes a 64-bit hash of all that defines
// it; contributions are added modulo 2^64. Addition commutes, so the sum does not depend on which
// rank, thread or partition counted first, and it can be taken back, so a rolled-back event
// subtracts what it added. Events carry (receive time, source, sequence), so two runs with equal
// sums executed the same events at the same times, not merely as many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "core/random.h"

namespace exawarp::core {

// The two halves of a 128-bit product, folded: the mixing step of wyhash and its kin.
constexpr std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Hash of a sequence of words.
class Hasher {
 public:
  explicit constexpr Hasher(std::uint64_t seed = 0) : state_(seed ^ kGoldenGamma) {}

  constexpr void word(std::uint64_t value) {
    state_ = fold(state_ ^ value, 0xa0761d6478bd642full) + kGoldenGamma;
  }

  // Any bytes; the length is part of the hash. The caller makes sure that none is padding.
  void bytes(const void* data, std::size_t size) {
    const auto* p = static_cast<const unsigned char*>(data);
    for (; size >= 8; p += 8, size -= 8) {
      std::uint64_t chunk;
      std::memcpy(&chunk, p, 8);
      word(chunk);
    }
    std::uint64_t rest = static_cast<std::uint64_t>(size) << 56;
    std::memcpy(&rest, p, size);
    word(rest);
  }

  [[nodiscard]] constexpr std::uint64_t value() const { return mix64(state_); }

 private:
  std::uint64_t state_;
};

// A sum of contributions; see the head of this file.
struct Digest {
  std::uint64_t value = 0;
  constexpr void add(std::uint64_t contribution) { value += contribution; }
  constexpr void subtract(std::uint64_t contribution) { value -= contribution; }
  friend constexpr bool operator==(Digest, Digest) = default;
};

// 16 lower-case hex digits, as summary.json prints it.
std::string to_hex(Digest digest);

}  // namespace exawarp::core
