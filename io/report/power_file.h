// Power over time as a table: the file that `--power` names.
#pragma once

#include "core/output_file.h"
#include "model/energy/power_trace.h"

namespace exawarp::io {

// Writes the trace and commits the file: comma-separated values with a header, a line a bin, a
// column a series (docs/reference/energy.md). Throws core::SystemError.
void write_power(const model::PowerTrace& trace, core::OutputFile& file);

}  // namespace exawarp::io
