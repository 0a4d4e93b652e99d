// What devices emit for a timeline (timeline.h): that a task of a stream begins and ends, and what
// the time of the whole device went to. No state has a part in it, so digests do not change.
#pragma once

#include <cstdint>

#include "core/time.h"
#include "model/device/time_class.h"
#include "pdes/context.h"

namespace exawarp::model {

constexpr std::uint32_t kTimelineChannel = 4;  // of emissions

enum class TimelineMark : std::uint8_t {
  begins,  // a task of a stream
  ends,    // the one that began last there, if it was not known until when it would take
  spent,   // the time of the device as a whole, from one instant to another, on one class
};

struct TimelineTask {
  std::uint32_t program = 0;  // of all jobs, that the device runs
  std::uint32_t stream = 0;
  std::uint32_t task = 0;                // index into ProgramTable::tasks
  // Of what begins; max(): not known. Of a collective that ends: when the last member came that
  // this device has heard of.
  core::Time until = core::Time::max();
};

inline void emit_timeline(pdes::Context& ctx, TimelineMark mark, const TimelineTask& of) {
  ctx.emit(kTimelineChannel, static_cast<std::uint64_t>(mark) | std::uint64_t{of.stream} << 16,
           std::uint64_t{of.program} << 32 | of.task, static_cast<std::uint64_t>(of.until.ps));
}

struct TimelineSpell {
  TimeClass spent_in = TimeClass::idle;
  core::Time from, until;  // at the latest now
};

inline void emit_timeline(pdes::Context& ctx, const TimelineSpell& spell) {
  ctx.emit(kTimelineChannel,
           static_cast<std::uint64_t>(TimelineMark::spent) | index_of(spell.spent_in) << 8,
           static_cast<std::uint64_t>(spell.from.ps), static_cast<std::uint64_t>(spell.until.ps));
}

}  // namespace exawarp::model
