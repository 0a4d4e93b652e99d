// The highest load at which a language model that is served keeps what its users were promised, by
// bisection: of a serving study or of a job that serves, as it is, for values of a key, or for each
// split of some devices between prompts and decodes.
//
// The same requests come at different rates: the seed draws intervals in units of their mean, so
// that a rate only stretches time. Rates are doubled or halved from the study's own until one is
// kept and its double is not, then bisected by ratio.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/life/simulate.h"
#include "io/life/splits.h"
#include "io/report/capacity_report.h"

namespace exawarp::io {

struct CapacityOptions {
  double tolerance = 0.01;  // of the rate, > 0
  // A key and its values, for each of which a capacity is found; empty: the study as it is.
  std::string key;
  std::vector<std::string> values;
  std::string job = {};     // that serves; empty: the only one
  // Devices of the job, all of whose splits are tried; 0: the study's own. Layouts of its two
  // pools; none: the study's own.
  std::uint32_t split = 0;
  std::vector<SplitLayout> prompts = {}, decodes = {};
  std::uint32_t below = 0;  // loads below the capacity, each half of the one above it
  // A file of loads: those that it has are not simulated again, others are added; empty: none.
  std::string database = {};
  // After each rate that was simulated, on every rank; may be empty.
  std::function<void(const std::string& setting, const CapacityPoint& point)> progress = {};
  // On every rank when the input is known to be good, before the first event; may be empty.
  std::function<void(const ResolvedYaml& study)> ready = {};
};

// Collective; every rank gets the whole report. Reads `file` several times. Throws core::InputError
// where the study promises nothing or its arrivals are not drawn, and what simulate() throws.
CapacityReport find_capacity(const std::string& file, const std::vector<std::string>& overrides,
                             const CapacityOptions& capacity, const RunOptions& options,
                             pdes::Transport& transport);

}  // namespace exawarp::io
