// `exawarp compare`: what differs between two results.
#pragma once

#include <string>

#include "io/cli/console.h"
#include "pdes/transport.h"

namespace exawarp::io {

struct CompareArguments {
  std::string a, b;      // directories of results, or their summary.json
  double tolerance = 0;  // of figures, relative
  bool json = false;
};

// Returns kDone, or kDrifted where a figure changed by more than the tolerance. Throws
// core::InputError and core::SystemError.
int run_compare(const CompareArguments& arguments, const Console& console,
                pdes::Transport& transport);

}  // namespace exawarp::io
