// What ports did over time, as a table: the section `counters` of a study, and the file that
// `--counters` names.
#pragma once

#include <string>

#include "io/yaml.h"
#include "model/network/packet_network.h"
#include "model/network/port_counters.h"
#include "pdes/transport.h"

namespace exawarp::io {

// Throws core::InputError.
model::PortCountersOptions read_port_counters(const YamlSection& section);

// Combines the ranks' counters; rank 0 writes them: comma-separated values with a header, whose
// columns docs/faults.md lists. Collective; throws core::SystemError on all ranks.
void write_port_counters(const std::string& path, const model::PacketNetwork& network,
                         model::PortCounters& counters, pdes::Transport& transport);

}  // namespace exawarp::io
