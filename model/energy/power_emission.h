// What devices emit for a trace of power (power_trace.h): that one of them draws so much above its
// idle power from one instant to another. No state has a part in it, so digests do not change.
#pragma once

#include <cstdint>

#include "core/time.h"
#include "pdes/context.h"

namespace exawarp::model {

constexpr std::uint32_t kPowerChannel = 3;  // of emissions

struct PowerDraw {
  std::int32_t above_idle_mw = 0;
  std::uint32_t program = 0;  // of all jobs, that the device runs
  core::Time from, until;     // `until` may lie ahead
};

inline void emit_power(pdes::Context& ctx, const PowerDraw& draw) {
  const auto mw = static_cast<std::uint32_t>(draw.above_idle_mw);
  ctx.emit(kPowerChannel, std::uint64_t{draw.program} << 32 | mw,
           static_cast<std::uint64_t>(draw.from.ps), static_cast<std::uint64_t>(draw.until.ps));
}

}  // namespace exawarp::model
