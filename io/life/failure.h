// The program's end: its exit codes, and an exception as an exit code and a line.
#pragma once

#include <exception>
#include <string>

#include "io/report/ran.h"

namespace exawarp::io {

enum ExitCode : int {
  kDone = 0,
  kInternalFault = 1,
  kDrifted = 1,  // of `exawarp compare` alone: figures differ
  kBadInput = 2,
  kDeadlock = 3,
  kOutOfResources = 4,
  kStoppedWithCheckpoint = 75,  // a restart goes on; batch systems put the job back for it
};

// Of a simulation that came to an end of its own.
ExitCode exit_code_of(const Ran& report);
ExitCode exit_code_of(RunStatus status);  // of one without checkpoints

struct Failure {
  int exit_code;
  std::string text;
};

// What to say of `error`, whatever it is: bad input, a resource that ran out (memory that Cap'n
// Proto could not have among them), or else a fault of ours.
Failure failure_of(const std::exception_ptr& error);

}  // namespace exawarp::io
