// The section `counters` of a study: the buckets of the file that `--counters` names.
#pragma once

#include "io/study/yaml.h"
#include "model/network/packet/port_counters.h"

namespace exawarp::io {

// Throws core::InputError.
model::PortCountersOptions read_port_counters(const YamlSection& section);

}  // namespace exawarp::io
