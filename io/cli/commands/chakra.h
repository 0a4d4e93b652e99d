// `exawarp workload import chakra|pytorch` and `workload export chakra|json`.
#pragma once

#include "io/cli/command_line.h"
#include "io/cli/console.h"

namespace exawarp::io {

// Import: writes a.output and says what was shared.
void import_chakra_file(const WorkloadArguments& a, const Console& console);
void import_pytorch_file(const WorkloadArguments& a, const Console& console);
void export_trace_files(const WorkloadArguments& a, const Console& console);

}  // namespace exawarp::io
