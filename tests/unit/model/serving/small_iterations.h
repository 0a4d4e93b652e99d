// A small decoder on devices whose sums take no time.
#pragma once

#include <cstdint>
#include <limits>

#include "model/serving/iteration_time.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {

inline model::serving::IterationSpec small_iteration(std::int64_t tensor,
                                                     std::int64_t attention_data = 1) {
  model::serving::IterationSpec spec;
  spec.model.layers = 4;
  spec.model.hidden = 1'024;
  spec.model.ffn = 2'048;
  spec.model.heads = 8;
  spec.model.kv_heads = 8;
  spec.model.vocabulary = 512;
  spec.tensor = tensor;
  spec.attention_data = attention_data;
  spec.all_reduce = {core::Time{0}, std::numeric_limits<std::int64_t>::max()};
  return spec;
}

// On the round accelerator, whose launches take no time either.
inline model::serving::IterationTime without_launches(const model::serving::IterationSpec& spec) {
  model::Accelerator accelerator = round_accelerator();
  accelerator.graph_launch_latency = core::Time{0};
  return {spec, accelerator};
}

}  // namespace exawarp::tests
