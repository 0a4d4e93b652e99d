// `exawarp workload sample`: graphs like given ones, and how close they are.
#pragma once

#include "io/cli/command_line.h"
#include "io/cli/console.h"

namespace exawarp::io {

// Draws everything before it writes anything. Throws core::InputError, core::SystemError.
void sample_files(const WorkloadArguments& arguments, const Console& console);

}  // namespace exawarp::io
