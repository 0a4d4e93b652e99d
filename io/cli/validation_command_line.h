// The options of `exawarp validate` and `exawarp calibrate`, a part of command_line.cc.
#pragma once

#include "io/cli/commands/calibrate.h"
#include "io/cli/commands/validate.h"

namespace CLI {
class App;
}

namespace exawarp::io {

void add_validate(CLI::App& app, ValidateArguments& a);
void add_calibrate(CLI::App& app, CalibrateArguments& a);

}  // namespace exawarp::io
