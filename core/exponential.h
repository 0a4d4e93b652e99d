// Exponentially distributed times in integers alone.
//
// A time drawn through std::log may differ in its last bit between two processors, because the C
// library picks its code by what they can do. One picosecond is enough for two ranks to disagree
// with a third, so a model that wants the same answer everywhere draws like this.
#pragma once

#include <bit>
#include <cstdint>

#include "core/time.h"

namespace exawarp::core {

// -ln(u) in units of 2^-32, where u = bits / 2^64 and zero counts as one.
// The binary logarithm has `whole` before the point; squaring a number between 1 and 2 moves the
// next binary digit of its logarithm in front of the point. Error: below 2^-31.
constexpr std::uint64_t minus_ln(std::uint64_t bits) {
  __extension__ using Wide = unsigned __int128;
  constexpr std::uint64_t kLn2 = 0xb17217f7d1cf79ac;  // ln 2 * 2^64
  bits |= 1;
  const int whole = 63 - std::countl_zero(bits);
  std::uint64_t mantissa = bits << (63 - whole);  // the number between 1 and 2, times 2^63
  std::uint64_t log2 = static_cast<std::uint64_t>(whole);
  for (int digit = 0; digit < 32; ++digit) {
    const Wide square = (static_cast<Wide>(mantissa) * mantissa) >> 63;
    const bool two_or_more = (square >> 64) != 0;
    log2 = (log2 << 1) | (two_or_more ? 1 : 0);
    mantissa = static_cast<std::uint64_t>(two_or_more ? square >> 1 : square);
  }
  const std::uint64_t minus_log2 = (std::uint64_t{64} << 32) - log2;
  return static_cast<std::uint64_t>((static_cast<Wide>(minus_log2) * kLn2) >> 64);
}

// A time of that distribution with the given mean, at least 1 ps and at most kEndOfTime. Requires
// mean >= 0.
constexpr core::Time exponential(core::Time mean, std::uint64_t bits) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(mean.ps) * minus_ln(bits);
  const core::Time time = time_to_end(static_cast<WidePs>(product >> 32));
  return time.ps < 1 ? core::Time{1} : time;
}

}  // namespace exawarp::core
