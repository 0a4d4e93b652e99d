// `exawarp calibrate`: few numbers of an accelerator, fitted to measured steps.
#pragma once

#include <string>
#include <vector>

#include "io/cli/commands/validate.h"
#include "io/cli/console.h"
#include "pdes/transport.h"

namespace exawarp::io {

struct CalibrateArguments {
  ValidateArguments rows;  // which; without out_directory and json
  std::vector<std::string> fitted = {"products", "memory", "step"};
  std::string output;  // the file to write; empty: none
  bool leave_one_out = false;
};

// Throws as calibrate(), and core::InputError where no row is asked for, or too many numbers.
int run_calibrate(const CalibrateArguments& arguments, const Console& console,
                  pdes::Transport& transport);

}  // namespace exawarp::io
