// The options of `exawarp capacity`, a part of command_line.cc.
#pragma once

#include "io/cli/command_line.h"

namespace CLI {
class App;
}

namespace exawarp::io {

// Less those of the mode, which command_line.cc adds.
void add_capacity(CLI::App& app, CapacityArguments& a);

}  // namespace exawarp::io
