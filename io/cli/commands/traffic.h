// `exawarp traffic`: synthetic traffic over a packet network, its completion times and rates.
#pragma once

#include "io/cli/command_line.h"
#include "io/cli/console.h"
#include "pdes/transport.h"

namespace exawarp::io {

// Returns the exit code. Throws core::InputError. Collective over the ranks.
int run_traffic(const TrafficArguments& arguments, const Console& console,
                pdes::Transport& transport);

}  // namespace exawarp::io
