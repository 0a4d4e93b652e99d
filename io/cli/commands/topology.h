// `exawarp topology show`: a study's network in figures, or as a picture.
#pragma once

#include "io/cli/command_line.h"
#include "io/cli/console.h"
#include "pdes/transport.h"

namespace exawarp::io {

// Returns the exit code. Throws core::InputError and core::SystemError.
int show_topology(const TopologyArguments& arguments, const Console& console,
                  pdes::Transport& transport);

}  // namespace exawarp::io
