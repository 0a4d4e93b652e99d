// When devices do what, as a Perfetto trace: the file that `--timeline` names.
#pragma once

#include "core/output_file.h"
#include "model/cluster.h"
#include "model/network/packet/port_counters.h"
#include "model/timeline/timeline.h"

namespace exawarp::io {

// Writes the finished timeline and commits the file (docs/guide/timelines.md): a group for each
// device, in it a track for what the device as a whole does and one for each of its streams, and an
// arrow from each send to the end of its receive; with `counters`, which may be null, also tracks
// for the use and the queue of each port of the device, and of those that lead to it. Throws
// core::SystemError.
void write_timeline(const model::Cluster& cluster, const model::Timeline& timeline,
                    const model::PortCounters* counters, core::OutputFile& file);

}  // namespace exawarp::io
