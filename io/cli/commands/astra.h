// `exawarp astra`: ASTRA-sim's analytical simulator, its files and its answers:
// docs/guide/astra.md.
#pragma once

#include "io/cli/command_line.h"
#include "io/cli/console.h"
#include "pdes/transport.h"

namespace exawarp::io {

// Collective; rank 0 works. kDeadlock where ranks of the simulated system do not finish.
int run_astra(const AstraArguments& arguments, const Console& console,
              pdes::Transport& transport);

}  // namespace exawarp::io
