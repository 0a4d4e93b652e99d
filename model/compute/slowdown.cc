#include "model/compute/slowdown.h"

#include <algorithm>

#include "model/pace.h"

namespace exawarp::model {

using core::Time;

std::vector<Slowdown> with_drawn_devices(std::vector<Slowdown> slowdowns, std::uint32_t devices) {
  for (Slowdown& slow : slowdowns) {
    if (!slow.drawn) continue;
    DrawnKeys drawn(*slow.drawn, devices);
    for (std::uint32_t d = 0; d < devices; ++d) drawn.offer(d);
    for (const std::uint64_t d : drawn.keys()) {
      slow.devices.push_back(static_cast<std::uint32_t>(d));
    }
    slow.drawn.reset();
  }
  return slowdowns;
}

Time overlapped(Time duration, std::int64_t ppm) {
  const core::WidePs product = static_cast<core::WidePs>(duration.ps) * ppm;
  return core::time_to_end((product + kUsualPace - 1) / kUsualPace);
}

Time slowed(const std::vector<Slowdown>& slowdowns, std::uint32_t device, Time start,
            Time duration) {
  const auto pace_at = [&](Time at) {
    Pace pace;
    for (const Slowdown& s : slowdowns) {
      if (at >= s.until || !std::ranges::binary_search(s.devices, device)) continue;
      if (at < s.from) {
        pace.until = std::min(pace.until, s.from);
      } else {
        pace.also(s.factor_ppm, s.until);
      }
    }
    return pace;
  };
  return end_at_pace(pace_at, start, duration) - start;
}

}  // namespace exawarp::model
