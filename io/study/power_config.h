// The section `power` of a study: the bins of the trace that `--power` names, and whose power it
// has by themselves.
#pragma once

#include "io/study/yaml.h"
#include "model/energy/power_trace.h"

namespace exawarp::io {

// Throws core::InputError.
model::PowerTraceOptions read_power_trace(const YamlSection& section);

}  // namespace exawarp::io
