// Where a command writes. Rank 0 writes results to `out`; errors and progress go to `err`.
#pragma once

#include <chrono>
#include <iosfwd>

namespace exawarp::io {

struct Console {
  std::ostream& out;
  std::ostream& err;
  bool err_is_terminal = false;
  // When the program did: what --time-limit counts from.
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
};

enum ExitCode : int {
  kDone = 0,
  kInternalFault = 1,
  kBadInput = 2,
  kDeadlock = 3,
  kOutOfResources = 4,
};

}  // namespace exawarp::io
