// Which stage of a pipeline an operator of a recorded step belongs to, and what goes between them.
#pragma once

#include <cstdint>
#include <vector>

#include "model/extrapolate/recorded_step.h"

namespace exawarp::model {

struct StagePlan {
  std::vector<std::uint32_t> stage_of;         // by operator; of the optimizer's: 0
  std::vector<std::uint64_t> boundary_bytes;   // after each stage but the last, at trace_batch
  std::vector<double> parameter_share;         // of each stage, in [0, 1]
};

// What the optimizer updates; where it is none that we know, all weights and biases.
[[nodiscard]] std::vector<std::uint32_t> parameters_of(const RecordedStep& step);

// Requires at least `stages` operators in the forward pass.
[[nodiscard]] StagePlan plan_stages(const RecordedStep& step, std::uint32_t stages,
                                    std::uint32_t trace_batch);

}  // namespace exawarp::model
