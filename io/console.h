// Where a command writes. Rank 0 writes results to `out`; errors and progress go to `err`.
#pragma once

#include <iosfwd>

namespace exawarp::io {

struct Console {
  std::ostream& out;
  std::ostream& err;
  bool err_is_terminal = false;
};

enum ExitCode : int {
  kDone = 0,
  kInternalFault = 1,
  kBadInput = 2,
  kDeadlock = 3,
  kOutOfResources = 4,
};

}  // namespace exawarp::io
