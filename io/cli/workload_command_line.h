// The options of `exawarp workload`, a part of command_line.cc.
#pragma once

#include <string>
#include <vector>

#include "io/cli/command_line.h"
#include "io/cli/extrapolate_command_line.h"

namespace CLI {
class App;
}

namespace exawarp::io {

// Options that are taken as text where the value is an enumeration or a quantity.
struct RawWorkloadOptions {
  std::string comm_size, control, cycle, max_size;
  std::string layout;
  RawExtrapolateOptions recorded;
  std::vector<std::string> overrides;
};

// Adds the subcommands to `app`; once it has parsed, finish_workload() settles `arguments`, and
// throws core::InputError.
void add_workload(CLI::App& app, WorkloadArguments& arguments, RawWorkloadOptions& raw);
void finish_workload(const RawWorkloadOptions& raw, WorkloadArguments& arguments);

}  // namespace exawarp::io
