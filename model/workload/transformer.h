// Decoder-only transformers (GPT and Llama families) trained with tensor, data and pipeline
// parallelism: one program per pipeline stage, shared by all devices of that stage.
#pragma once

#include "model/workload/graph.h"
#include "model/workload/spec.h"

namespace exawarp::model {

// Throws SpecProblem naming the first key that makes `spec` impossible.
void check(const TransformerSpec& spec);

// The workload of `spec`, validated and indexed. Throws SpecProblem as check() does.
WorkloadGraph generate_transformer(const TransformerSpec& spec);

}  // namespace exawarp::model
