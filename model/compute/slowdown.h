// Devices that compute slower for a while: trouble on purpose. A node of duration d that runs while
// its device is slowed by the factor f progresses at 1/f of its rate; slowdowns that overlap
// multiply (pace.h). A pure function of device, start and duration.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/time.h"
#include "model/fault_draw.h"

namespace exawarp::model {

struct Slowdown {
  std::vector<std::uint32_t> devices;     // ascending
  std::int64_t factor_ppm = 1'000'000;    // 1,000,000: as usual; more: slower; > 0
  core::Time from = {};                   // inclusive
  core::Time until = core::Time::max();   // exclusive
  std::optional<FaultDraw> drawn = {};    // of all devices, instead of `devices`
};
constexpr double kSlowdownMax = 1'000'000;  // the largest factor, and one over the least

// The same with the devices that are drawn, of so many.
std::vector<Slowdown> with_drawn_devices(std::vector<Slowdown> slowdowns, std::uint32_t devices);

// How long `duration` takes on `device` from `start` on, rounded up at each change of rate.
// Cost: O(slowdowns) a change of rate.
core::Time slowed(const std::vector<Slowdown>& slowdowns, std::uint32_t device, core::Time start,
                  core::Time duration);

// `duration` at so many millionths of the usual pace, rounded up; at most the end of time.
core::Time overlapped(core::Time duration, std::int64_t ppm);

}  // namespace exawarp::model
