// The mapping `transformer:` of a workload specification.
#pragma once

#include "io/study/keys.h"
#include "model/generate/transformer_spec.h"

namespace exawarp::io {

const Keys<model::TransformerSpec>& transformer_keys();
const Keys<model::ModelSpec>& model_keys();

// Reads and checks it. Throws core::InputError, or model::SpecProblem for what the generator would
// refuse.
model::TransformerSpec read_transformer(const YamlSection& section);

}  // namespace exawarp::io
