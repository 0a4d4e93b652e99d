// `exawarp plan`: how long a run would take on a larger machine, and what memory.
#pragma once

#include <string>
#include <vector>

#include "io/cli/console.h"
#include "pdes/transport.h"

namespace exawarp::io {

struct PlanArguments;

// On one rank. Returns the exit code. Throws core::InputError and core::SystemError.
int run_plan(const PlanArguments& arguments, const Console& console, pdes::Transport& transport);

}  // namespace exawarp::io
