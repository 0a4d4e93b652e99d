// When a device does what, without a network: its ideal schedule as a table or a picture.
#pragma once

#include <cstdint>
#include <string>

#include "io/report/critical_path.h"

namespace exawarp::io {

// A table, an SVG picture, or a Chrome trace (chrome://tracing, Perfetto).
enum class TimelineForm { text, svg, chrome };

// Throws core::InputError where the workload has no such schedule.
[[nodiscard]] std::string timeline(const model::WorkloadGraph& graph, const TimedWorkload& workload,
                                   std::uint32_t device, TimelineForm form);

}  // namespace exawarp::io
