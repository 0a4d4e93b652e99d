// `exawarp doctor`: whether runs will start on this machine, and what would make them faster.
#pragma once

#include "io/cli/console.h"
#include "pdes/transport.h"

namespace exawarp::io {

struct DoctorArguments {
  bool json = false;
};

// Under mpirun each rank looks at its machine. kOutOfResources where something would stop a run.
int run_doctor(const DoctorArguments& arguments, const Console& console,
               pdes::Transport& transport);

}  // namespace exawarp::io
