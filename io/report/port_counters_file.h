// What ports did over time, as a table: the section `counters` of a study, and the file that
// `--counters` names.
#pragma once

#include "core/output_file.h"
#include "io/study/yaml.h"
#include "model/network/packet/packet_network.h"
#include "model/network/packet/port_counters.h"

namespace exawarp::io {

// Throws core::InputError.
model::PortCountersOptions read_port_counters(const YamlSection& section);

// Writes the counters, of all ranks, and commits the file: comma-separated values with a header,
// whose columns docs/guide/faults.md lists. Throws core::SystemError.
void write_port_counters(const model::PacketNetwork& network, const model::PortCounters& counters,
                         core::OutputFile& file);

}  // namespace exawarp::io
