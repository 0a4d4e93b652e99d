// The program without its process: what main() calls, and what tests call in its stead.
#pragma once

#include <string>
#include <vector>

#include "io/cli/console.h"

namespace exawarp::io {

// Runs one command; `arguments` without the program's name. Returns the exit code. Errors end
// here: each is one line on console.err.
int run_main(const std::vector<std::string>& arguments, const Console& console);

}  // namespace exawarp::io
