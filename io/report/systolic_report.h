// Cycles of layers on a systolic array, as text, CSV and JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/compute/systolic_model.h"

namespace exawarp::io {

// On an accelerator: all of its arrays, memory and launch.
struct SystolicOnDevice {
  model::SystolicCycles cycles;
  double us = 0;
};

struct SystolicRow {
  std::string layer;
  model::GemmShape shape;
  model::SystolicArray array;
  model::SystolicCount count;
  std::optional<double> stall_cycles;            // where there is a memory
  std::optional<SystolicOnDevice> device;        // where there is an accelerator
  std::optional<std::uint64_t> expected_cycles;  // where the file has them
};

std::string systolic_text(const std::vector<SystolicRow>& rows);
std::string systolic_csv(const std::vector<SystolicRow>& rows);
std::string systolic_json(const std::vector<SystolicRow>& rows);

}  // namespace exawarp::io
