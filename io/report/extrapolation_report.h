// What `exawarp extrapolate` prints.
#pragma once

#include <string>
#include <vector>

#include "io/life/extrapolation.h"

namespace exawarp::io {

struct ExtrapolationReport {
  std::string trace;
  std::size_t operators = 0;
  std::uint32_t trace_batch = 1, batch = 1;
  double recorded_s = 0;  // the step, on one GPU
  std::string on;         // a cluster, or rules
  std::vector<ExtrapolatedPoint> points;
};

std::string extrapolation_text(const ExtrapolationReport& report);
std::string extrapolation_json(const ExtrapolationReport& report);

}  // namespace exawarp::io
