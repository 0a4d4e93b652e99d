// What became of each message of synthetic traffic, as a table.
#pragma once

#include "core/output_file.h"
#include "model/network/packet/traffic_outcome.h"

namespace exawarp::io {

// CSV, by time of end: source, destination, bytes, start_ps, end_ps. Of messages that were received
// whole. Throws core::SystemError.
void write_flows(const model::FlowTimes& flows, core::OutputFile& file);

}  // namespace exawarp::io
