// What ports did over time, as a table: the file that `--counters` names.
#pragma once

#include "core/output_file.h"
#include "model/network/packet/packet_network.h"
#include "model/network/packet/port_counters.h"

namespace exawarp::io {

// Writes the counters, of all ranks, and commits the file: comma-separated values with a header,
// whose columns docs/guide/faults.md lists. Throws core::SystemError.
void write_port_counters(const model::PacketNetwork& network, const model::PortCounters& counters,
                         core::OutputFile& file);

}  // namespace exawarp::io
