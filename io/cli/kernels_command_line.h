// The options of `exawarp kernels`, a part of command_line.cc.
#pragma once

#include <string>
#include <vector>

#include "io/cli/commands/kernels.h"

namespace CLI {
class App;
}

namespace exawarp::io {

// Options that are taken as text where the value is an enumeration or a quantity.
struct RawKernelsOptions {
  std::vector<std::string> dataflows;
  std::string format, clock;
};

// Adds the subcommands to `app`; once it has parsed, finish_kernels() settles `arguments`, and
// throws core::InputError.
void add_kernels(CLI::App& app, KernelsArguments& arguments, RawKernelsOptions& raw);
void finish_kernels(const RawKernelsOptions& raw, KernelsArguments& arguments);

}  // namespace exawarp::io
