// `exawarp search`: every layout of a training job, and the best of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/cli/console.h"
#include "pdes/transport.h"

namespace exawarp::io {

struct SearchArguments {
  std::string file;
  std::string database;                // empty: results/<search>.db
  std::vector<std::string> overrides;  // of the study
  std::uint32_t jobs = 0;              // layouts at a time; 0: as many as cores allow
  std::optional<double> time_limit_s;  // of each
  // As the file says where none is given.
  std::optional<std::uint32_t> look_again;  // most layouts that have a second look
  std::optional<std::uint32_t> best;        // layouts to verify
  std::string verify;                  // how, a VerifyFidelity; empty: as the file says
};

// kStoppedWithCheckpoint where a signal stopped it: the same command goes on.
int run_search_command(const SearchArguments& arguments, const Console& console,
                       pdes::Transport& transport);

}  // namespace exawarp::io
