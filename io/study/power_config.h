// The section `power` of a study: the bins of the trace that `--power` names, and whose power it
// has by themselves.
#pragma once

#include "io/study/keys.h"
#include "model/energy/power_trace.h"

namespace exawarp::io {

const Keys<model::PowerTraceOptions>& power_trace_keys();

}  // namespace exawarp::io
