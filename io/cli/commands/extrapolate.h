// `exawarp extrapolate`: the step of one GPU's trace on many.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/cli/console.h"
#include "io/life/simulate.h"
#include "model/extrapolate/layouts.h"
#include "model/guests/triosim/rules.h"
#include "pdes/transport.h"

namespace exawarp::io {

struct ExtrapolateArguments {
  std::string trace, tensors;
  std::vector<std::uint32_t> devices;
  std::vector<model::ExtrapolatedLayout> layouts;  // empty: by rules
  std::vector<model::triosim::Case> cases;         // empty: by simulation
  model::Extrapolation to;     // less its layout and devices
  model::triosim::Rules rules;  // less its case and devices
  std::string cluster;
  std::vector<std::string> overrides;  // of the study
  RunOptions options;
  std::string output;  // a .xwg file to write in place of simulating; empty: none
  bool json = false;
};

// Returns the exit code. Throws core::InputError and core::SystemError.
int run_extrapolate(const ExtrapolateArguments& arguments, const Console& console,
                    pdes::Transport& transport);

}  // namespace exawarp::io
