// What ports did over time, as a table: the section `counters` of a study, and the file that
// `--counters` names.
#pragma once

#include <string>

#include "io/yaml.h"
#include "model/network/packet_network.h"
#include "model/network/port_counters.h"

namespace exawarp::io {

// Throws core::InputError.
model::PortCountersOptions read_port_counters(const YamlSection& section);

// Comma-separated values with a header; docs/faults.md lists the columns. Requires that combine()
// was called.
std::string port_counters_csv(const model::PacketNetwork& network,
                              const model::PortCounters& counters);

}  // namespace exawarp::io
