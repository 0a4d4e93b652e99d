// Compute jitter: a factor on a node's duration, different for each device and node, a pure
// function of (seed, device, node). So it is the same in every mode and after every rollback, and
// no state is kept for it.
//
// Distribution: Irwin-Hall of order 4. The 64 random bits are four uniform integers of 16 bits;
// c = their sum - 131070 is symmetric about 0, near normal, and bounded. Its variance is exactly
// v = 4 * (65536^2 - 1) / 12, so the factor 1 + sigma * c / sqrt(v) has mean exactly 1 and relative
// standard deviation exactly sigma. |c| <= 131070 gives factors within 1 +- 3.4641 sigma, positive
// for sigma <= kJitterMax. sigma / sqrt(v) is rounded once to a multiple of 2^-48; the rest is
// integer arithmetic, rounded to the nearest picosecond.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/random.h"
#include "core/time.h"

namespace exawarp::model {

constexpr double kJitterMax = 0.25;  // of the relative standard deviation: factors >= 0.134

class Jitter {
 public:
  // Requires 0 <= sigma <= kJitterMax.
  Jitter(double sigma, std::uint64_t seed)
      : seed_(seed), scale_(static_cast<std::int64_t>(std::llround(
            sigma / std::sqrt(4.0 * (65536.0 * 65536.0 - 1.0) / 12.0) * 0x1p48))) {}

  [[nodiscard]] bool off() const { return scale_ == 0; }

  // `duration` of `node` on `device`. Requires duration >= 0.
  [[nodiscard]] core::Time apply(core::Time duration, std::uint32_t device,
                                 std::uint32_t node) const {
    __extension__ using Wide = __int128;
    const std::uint64_t bits = core::random_bits(core::stream_of(seed_, device, kPurpose), node);
    std::int64_t centred = -131070;
    for (int i = 0; i < 4; ++i) centred += static_cast<std::int64_t>(bits >> (16 * i) & 0xffff);
    const Wide scaled = static_cast<Wide>(duration.ps) * (centred * scale_);
    return {duration.ps + static_cast<std::int64_t>((scaled + (Wide{1} << 47)) >> 48)};
  }

 private:
  static constexpr std::uint64_t kPurpose = 0x6a6974746572;  // "jitter": a stream of its own
  std::uint64_t seed_;
  std::int64_t scale_;  // sigma / sqrt(v) in units of 2^-48
};

}  // namespace exawarp::model
