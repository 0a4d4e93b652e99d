// What tells programs of ranks apart.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

#include "io/formats/chakra/rank_program.h"

namespace exawarp::io {

// 128 bits: programs with one fingerprint are taken to be equal.
struct Fingerprint {
  std::uint64_t a = 0x243f6a8885a308d3u, b = 0x13198a2e03707344u;
  void add(std::uint64_t value);
  void add(std::string_view text);
  friend constexpr auto operator<=>(const Fingerprint&, const Fingerprint&) = default;
};

[[nodiscard]] Fingerprint fingerprint(const RankProgram& program);

}  // namespace exawarp::io
