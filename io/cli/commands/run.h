// `exawarp run`: simulates a study.
#pragma once

#include "io/cli/command_line.h"
#include "io/cli/console.h"
#include "pdes/transport.h"

namespace exawarp::io {

// Collective: every rank calls it with the same arguments. Returns the exit code, the same on
// every rank. Throws core::InputError, core::SystemError and OtherRankFailed.
int run_study(const RunArguments& arguments, const Console& console, pdes::Transport& transport);

}  // namespace exawarp::io
