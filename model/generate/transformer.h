// Transformers in training: decoder-only (GPT, Llama, Mixtral, DeepSeek), encoder-decoder (T5) and
// vision (ViT). One program per pipeline stage, shared by all devices of that stage; where experts
// are not equally busy, one per stage and place among the ranks that share them.
#pragma once

#include <string>
#include <vector>

#include "model/generate/transformer_spec.h"
#include "model/workload/graph.h"

namespace exawarp::model {

// Throws SpecProblem naming the first key that makes `spec` impossible.
void check(const TransformerSpec& spec);
// A model and how it is split, whatever is trained. Throws SpecProblem as check() of a training.
void check(const ModelSpec& model, const ParallelSpec& parallel = {});
// The same where all of its steps together are too much to generate; check() asks that of one.
void check_size(const TransformerSpec& spec);

// The workload of `spec`, validated and indexed. Throws SpecProblem as check() does.
// Throws WorkloadTooLarge (builder.h) where the file would have more than `bytes_max` bytes.
WorkloadGraph generate_transformer(const TransformerSpec& spec,
                       std::uint64_t bytes_max = ~std::uint64_t{0});

// A program of a workload, by its name, and what it needs.
struct NamedMemory {
  std::string program;
  ProgramMemory memory;
};

// What the programs of generate_transformer(spec) need, in their order, without their nodes: in a
// small part of the time. Points of the timeline count passes in place of nodes. Throws as check().
std::vector<NamedMemory> memory_of_programs(const TransformerSpec& spec);

// The model's own arithmetic of a step (docs/guide/training.md). Requires a spec that check()
// accepts, except for sizes: throws SpecProblem where an operation reaches 2^62 FLOPs.
double model_flops_of_step(const TransformerSpec& spec);

}  // namespace exawarp::model
