// `exawarp serve`: a language model that replicas serve.
#pragma once

#include "io/cli/command_line.h"
#include "io/cli/console.h"
#include "pdes/transport.h"

namespace exawarp::io {

// Returns the exit code. Throws core::InputError and core::SystemError.
int run_serve(const ServeArguments& arguments, const Console& console, pdes::Transport& transport);

}  // namespace exawarp::io
