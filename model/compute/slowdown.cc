#include "model/compute/slowdown.h"

#include <algorithm>

namespace exawarp::model {
namespace {

using core::Time;
__extension__ using Wide = __int128;

constexpr std::int64_t kWhole = 1'000'000;

struct Pace {
  std::int64_t factor_ppm = kWhole;
  Time until = Time::max();
};

Pace pace_at(const std::vector<Slowdown>& slowdowns, std::uint32_t device, Time at) {
  Pace pace;
  for (const Slowdown& s : slowdowns) {
    if (at >= s.until || !std::ranges::binary_search(s.devices, device)) continue;
    if (at < s.from) {
      pace.until = std::min(pace.until, s.from);
      continue;
    }
    pace.until = std::min(pace.until, s.until);
    const Wide product = static_cast<Wide>(pace.factor_ppm) * s.factor_ppm / kWhole;
    pace.factor_ppm = static_cast<std::int64_t>(
        std::clamp<Wide>(product, 1, static_cast<Wide>(kWhole) * kWhole));
  }
  return pace;
}

}  // namespace

Time slowed(const std::vector<Slowdown>& slowdowns, std::uint32_t device, Time start,
            Time duration) {
  Time at = start, left = duration;
  for (;;) {
    const Pace pace = pace_at(slowdowns, device, at);
    const Wide needs = (static_cast<Wide>(left.ps) * pace.factor_ppm + kWhole - 1) / kWhole;
    const Time available = pace.until - at;
    if (needs <= available.ps) return at + Time{static_cast<std::int64_t>(needs)} - start;
    left -= Time{static_cast<std::int64_t>(static_cast<Wide>(available.ps) * kWhole /
                                           pace.factor_ppm)};
    at = pace.until;
  }
}

}  // namespace exawarp::model
