// `exawarp goal`: a GOAL schedule under LogGOPS.
#pragma once

#include "io/cli/command_line.h"
#include "io/cli/console.h"
#include "pdes/transport.h"

namespace exawarp::io {

// Returns the exit code: kDeadlock where an operation never ended or a message was never
// received. Throws core::InputError and core::SystemError.
int run_goal(const GoalArguments& arguments, const Console& console, pdes::Transport& transport);

}  // namespace exawarp::io
