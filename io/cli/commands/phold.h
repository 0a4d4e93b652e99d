// `exawarp phold`: the engine's usual benchmark.
#pragma once

#include "io/cli/command_line.h"
#include "io/cli/console.h"
#include "pdes/transport.h"

namespace exawarp::io {

// What the options say. Throws core::InputError.
PholdRun phold_run_of(const PholdArguments& arguments);

// Collective, as run_study().
int run_phold(const PholdArguments& arguments, const Console& console,
              pdes::Transport& transport);

}  // namespace exawarp::io
