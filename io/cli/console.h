// Where a command writes. Rank 0 writes results to `out`; errors and progress go to `err`.
#pragma once

#include <chrono>
#include <iosfwd>

#include "io/life/failure.h"

namespace exawarp::io {

struct RunOptions;

struct Console {
  std::ostream& out;
  std::ostream& err;
  bool err_is_terminal = false;
  // When the program did: what --time-limit counts from.
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
};

// `options` with the program's start, and with what the user is told going to `console`. Owner: the
// console outlives it.
RunOptions with_console(RunOptions options, const Console& console);

}  // namespace exawarp::io
