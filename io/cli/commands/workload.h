// `exawarp workload generate|inspect|validate`: workload graphs as files.
#pragma once

#include "io/cli/command_line.h"
#include "io/cli/console.h"
#include "pdes/transport.h"

namespace exawarp::io {

// Works on rank 0; the other ranks wait for its end. Otherwise as run_study().
int handle_workload(const WorkloadArguments& arguments, const Console& console,
                    pdes::Transport& transport);

}  // namespace exawarp::io
