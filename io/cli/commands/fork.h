// `exawarp fork`: several futures of one past, simulated one after the other.
#pragma once

#include <string>
#include <vector>

#include "io/cli/console.h"
#include "io/life/simulate.h"
#include "pdes/transport.h"

namespace exawarp::io {

struct ForkArguments {
  std::string checkpoint;     // of a study, or the directory of such
  std::string variants;       // the file of the futures
  std::string out_directory;  // empty: results/<name of the fork>
  RunOptions options;
  bool json = false;
  bool force = false;  // replaces what another study left in the directories
  std::vector<std::string> command_line;
};

// Returns an exit code. Throws core::InputError and core::SystemError.
int run_fork(const ForkArguments& arguments, const Console& console, pdes::Transport& transport);

}  // namespace exawarp::io
