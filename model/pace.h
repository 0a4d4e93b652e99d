// Work at a rate that changes: what devices that compute slower and links that are slow or down
// have in common. A pace is a pure function of time, so nothing is kept and nothing is undone.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/time.h"

namespace exawarp::model {

constexpr std::int64_t kUsualPace = 1'000'000;

// From some instant until `until`, work of duration d takes d * factor_ppm / 1,000,000.
struct Pace {
  std::int64_t factor_ppm = kUsualPace;  // more: slower; 0: nothing moves
  core::Time until = core::Time::max();

  // Slowdowns that overlap multiply; a standstill wins.
  void also(std::int64_t factor, core::Time end) {
    __extension__ using Wide = __int128;
    until = std::min(until, end);
    if (factor == 0 || factor_ppm == 0) {
      factor_ppm = 0;
      return;
    }
    const Wide product = static_cast<Wide>(factor_ppm) * factor / kUsualPace;
    factor_ppm = static_cast<std::int64_t>(
        std::clamp<Wide>(product, 1, static_cast<Wide>(kUsualPace) * kUsualPace));
  }
};

// When work that takes `duration` at the usual pace ends if it begins at `start`, or kEndOfTime
// where that is earlier; Time::max() where it never continues. Rounded up at each change.
// `pace_at(t)` gives the Pace from t on.
// Cost: one call of `pace_at` a change.
template <class PaceAt>
core::Time end_at_pace(const PaceAt& pace_at, core::Time start, core::Time duration) {
  using Wide = core::WidePs;
  core::Time at = start, left = duration;
  for (;;) {
    const Pace pace = pace_at(at);
    const core::Time available = pace.until - at;
    if (pace.factor_ppm != 0) {
      const Wide needs =
          (static_cast<Wide>(left.ps) * pace.factor_ppm + kUsualPace - 1) / kUsualPace;
      if (needs <= available.ps || pace.until >= core::kEndOfTime) {
        return core::sum_to_end(at, core::time_to_end(needs));
      }
      left -= core::Time{static_cast<std::int64_t>(static_cast<Wide>(available.ps) * kUsualPace /
                                                   pace.factor_ppm)};
    }
    if (pace.until == core::Time::max()) return core::Time::max();
    at = pace.until;
  }
}

}  // namespace exawarp::model
