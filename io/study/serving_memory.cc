#include "io/study/serving_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "model/generate/spec.h"
#include "model/serving/kv_room.h"

namespace exawarp::io {
namespace {

using model::serving::CacheGroups;
using model::serving::Preemption;
using model::serving::Spec;

void refuse(const std::string& place, const char* key, const char* what, const char* expected) {
  throw core::InputError(
      place, fmt::format("{}: moves keys and values, but no {}; expected {}", key, what, expected));
}

}  // namespace

void choose_groups(const model::ModelSpec& model, const std::string& place, Spec& spec) {
  if (model.mamba.heads != 0) {
    const char* const what = "states of state-space layers, which model.pattern has";
    if (spec.prefix_cache) refuse(place, "prefix_cache", what, "false");
    if (spec.preemption == Preemption::swap) refuse(place, "preemption", what, "recompute");
  }
  const bool has_groups = spec.policy == model::serving::Policy::vllm_v1 && spec.hybrid_cache;
  if (!has_groups) return;
  spec.groups = model::serving::grouped_layers(model).groups;
  if (spec.groups.windowed != 0 && spec.preemption == Preemption::swap) {
    refuse(place, "preemption", "blocks of layers that have model.window",
           "recompute, or hybrid_cache: false");
  }
}

std::uint32_t blocks_that_fit(const std::string& place,
                              const model::serving::IterationSpec& iteration,
                              const model::Accelerator& accelerator, const Spec& spec) {
  model::serving::MemoryRule rule{.sequences = spec.batch_requests_max};
  if (spec.groups != CacheGroups{}) {
    rule.layers = model::serving::grouped_layers(iteration.model).layers;
  }
  std::uint64_t blocks = 0;
  try {
    blocks = model::serving::room_for_tokens(iteration, accelerator, rule, spec.stages) /
             spec.block_tokens;
  } catch (const model::SpecProblem& problem) {
    throw core::InputError(place, problem.what());
  }
  if (blocks == 0) {
    const bool has_states = iteration.model.mamba.heads != 0;
    throw core::InputError(
        place, fmt::format("the weights{} leave no room for keys and values; expected more devices "
                           "or stages{}, or blocks",
                           has_states ? " and states" : "",
                           has_states ? ", a smaller batch_requests_max" : ""));
  }
  return static_cast<std::uint32_t>(std::min(blocks, model::serving::kBlocksMax));
}

}  // namespace exawarp::io
