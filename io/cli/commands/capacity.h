// `exawarp capacity`: the highest load at which a serving study, or a job that serves, keeps what
// it promises.
#pragma once

#include "io/cli/command_line.h"
#include "io/cli/console.h"
#include "pdes/transport.h"

namespace exawarp::io {

// Returns the exit code. Throws core::InputError and core::SystemError.
int run_capacity(const CapacityArguments& arguments, const Console& console,
                 pdes::Transport& transport);

}  // namespace exawarp::io
