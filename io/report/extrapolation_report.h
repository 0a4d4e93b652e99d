// What `exawarp extrapolate` prints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace exawarp::io {

struct ExtrapolatedPoint {
  std::string layout;
  std::uint32_t devices = 1;
  std::uint64_t samples = 0;  // of a step, on all devices
  double step_s = 0;
  double recorded_s = 0;  // of the step, what a device spends in recorded operators, on average
  std::string digest;     // of the simulation; empty: by rules
};

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
