// When devices do what, as a Perfetto trace: the file that `--timeline` names.
#pragma once

#include "core/output_file.h"
#include "model/cluster.h"
#include "model/timeline/timeline.h"

namespace exawarp::io {

// Writes the finished timeline and commits the file (docs/guide/timelines.md): a group for each
// device, in it a track for what the device as a whole does and one for each of its streams, and an
// arrow from each send to the end of its receive. Throws core::SystemError.
void write_timeline(const model::Cluster& cluster, const model::Timeline& timeline,
                    core::OutputFile& file);

}  // namespace exawarp::io
