// What the memory of a replica's devices means for its keys and values.
#pragma once

#include <cstdint>
#include <string>

#include "model/compute/accelerator.h"
#include "model/serving/iteration_time.h"
#include "model/serving/serving.h"

namespace exawarp::io {

// Sets spec.groups by the model's layers. Throws core::InputError at `place` where the rules move
// what nothing moves: states of state-space layers, and blocks of layers with a window.
void choose_groups(const model::ModelSpec& model, const std::string& place,
                   model::serving::Spec& spec);

// Of spec.groups, of spec.block_tokens tokens each, that spec.stages have room for beside their
// weights and the states of spec.batch_requests_max sequences. Throws core::InputError at `place`
// where they have none.
std::uint32_t blocks_that_fit(const std::string& place,
                              const model::serving::IterationSpec& iteration,
                              const model::Accelerator& accelerator,
                              const model::serving::Spec& spec);

}  // namespace exawarp::io
