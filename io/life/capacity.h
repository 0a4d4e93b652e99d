// The highest load at which a serving study keeps what it promises, by bisection.
//
// The same requests come at different rates: the seed draws intervals in units of their mean, so
// that a rate only stretches time. Rates are doubled or halved from the study's own until one is
// kept and its double is not, then bisected by ratio.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "io/life/simulate.h"
#include "io/report/capacity_report.h"

namespace exawarp::io {

struct CapacityOptions {
  double tolerance = 0.01;  // of the rate, > 0
  // A key and its values, for each of which a capacity is found; empty: the study as it is.
  std::string key;
  std::vector<std::string> values;
  // After each rate that was simulated, on every rank; may be empty.
  std::function<void(const std::string& setting, const CapacityPoint& point)> progress = {};
};

// Collective; every rank gets the whole report. Reads `file` once for each value. Throws
// core::InputError where the study promises nothing or its arrivals are not drawn, and what
// simulate() throws.
CapacityReport find_capacity(const std::string& file, const std::vector<std::string>& overrides,
                             const CapacityOptions& capacity, const RunOptions& options,
                             pdes::Transport& transport);

}  // namespace exawarp::io
