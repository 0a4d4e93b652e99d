// An exception as the program's end: an exit code and a line.
#pragma once

#include <exception>
#include <string>

namespace exawarp::io {

struct Failure {
  int exit_code;
  std::string text;
};

// What to say of `error`, whatever it is: bad input, a resource that ran out (memory that Cap'n
// Proto could not have among them), or else a fault of ours.
Failure failure_of(const std::exception_ptr& error);

}  // namespace exawarp::io
