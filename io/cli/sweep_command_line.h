// The options of `exawarp sweep` and `exawarp search`, a part of command_line.cc.
#pragma once

#include <string>
#include <vector>

#include "io/cli/commands/search.h"
#include "io/cli/commands/sweep.h"

namespace CLI {
class App;
}

namespace exawarp::io {

// Options that are taken as text where the value is one of some names.
struct RawSweepOptions {
  std::string by, share;
  std::vector<std::string> pareto;
  bool csv = false;  // the default
};

// Adds options and subcommands to `app`; once it has parsed, finish_sweep() settles `arguments`,
// and throws core::InputError.
void add_sweep(CLI::App& app, SweepArguments& arguments, RawSweepOptions& raw);
void finish_sweep(const RawSweepOptions& raw, SweepArguments& arguments);

// The same of a search, which needs nothing settled.
void add_search(CLI::App& app, SearchArguments& arguments);

}  // namespace exawarp::io
