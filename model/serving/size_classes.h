// Sizes of batches, as messages know them: up to 64 exactly, above that rounded up to one of 32
// sizes an octave, so by less than 1/32. Engines round as well, to the sizes for which they have
// recorded graphs.
#pragma once

#include <bit>
#include <cstdint>

namespace exawarp::model::serving {

constexpr std::uint32_t kExactSizes = 64;
constexpr std::uint32_t kSizesOfOctave = kExactSizes / 2;

// The class of `size`, from 0 for 1. Requires size >= 1.
constexpr std::uint32_t size_class_of(std::uint64_t size) {
  if (size <= kExactSizes) return static_cast<std::uint32_t>(size - 1);
  const auto octave = static_cast<std::uint32_t>(std::bit_width(size - 1)) - 6;
  const std::uint64_t steps = (size + (std::uint64_t{1} << octave) - 1) >> octave;
  return kExactSizes + (octave - 1) * kSizesOfOctave +
         static_cast<std::uint32_t>(steps - kSizesOfOctave - 1);
}

// The largest size of a class.
constexpr std::uint64_t size_of_class(std::uint32_t c) {
  if (c < kExactSizes) return c + 1;
  const std::uint32_t octave = (c - kExactSizes) / kSizesOfOctave + 1;
  const std::uint64_t steps = (c - kExactSizes) % kSizesOfOctave + kSizesOfOctave + 1;
  return steps << octave;
}

}  // namespace exawarp::model::serving
