// `exawarp workload import chakra` and `workload export chakra`.
#pragma once

#include "io/command_line.h"
#include "io/console.h"

namespace exawarp::io {

// Import: writes a.output and says what was shared.
void import_chakra_file(const WorkloadArguments& a, const Console& console);
void export_chakra_file(const WorkloadArguments& a, const Console& console);

}  // namespace exawarp::io
