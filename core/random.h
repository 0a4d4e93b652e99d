// Counter-based random numbers: a draw is a pure function of (stream, draw number), so rolling a
// logical process back rolls its randomness back too, with no generator state to save beyond the
// count of draws.
// The function is splitmix64's output permutation over a Weyl sequence (Steele, Lea, Flood:
// "Fast splittable pseudorandom number generators", OOPSLA 2014).
#pragma once

#include <cstdint>

namespace exawarp::core {

constexpr std::uint64_t kGoldenGamma = 0x9e3779b97f4a7c15ull;

constexpr std::uint64_t mix64(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// The `draw`-th number (0, 1, ...) of `stream`: what splitmix64 seeded with `stream` returns.
constexpr std::uint64_t random_bits(std::uint64_t stream, std::uint64_t draw) {
  return mix64(stream + (draw + 1) * kGoldenGamma);
}

// Uniform in [0, 1), 53 random bits.
constexpr double unit_interval(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

// One stream for each (seed, a, b): neighbouring ids give unrelated streams.
constexpr std::uint64_t stream_of(std::uint64_t seed, std::uint64_t a, std::uint64_t b = 0) {
  return mix64(mix64(mix64(seed + kGoldenGamma) ^ a) + b * kGoldenGamma);
}

}  // namespace exawarp::core
