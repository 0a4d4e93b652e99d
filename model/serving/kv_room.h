// How many tokens' keys and values a replica has room for, beside its weights.
#pragma once

#include <cstdint>

#include "model/compute/accelerator.h"
#include "model/serving/iteration_time.h"
#include "model/serving/serving.h"

namespace exawarp::model::serving {

// Parts that keys and values of a layer can be split into, and bytes of one for a token.
struct KvUnits {
  std::uint64_t count = 1, bytes = 0;
};
[[nodiscard]] KvUnits kv_units_of(const ModelSpec& model, schema::DataType cache_precision);

// What an engine gives to keys and values: `share_of_rest` of what weights and `workspace_bytes`
// (activations of a pass, libraries, communicators) leave of `share` of a device's memory.
struct MemoryRule {
  double share = 0.9;  // (0, 1]
  double share_of_rest = 1;
  std::uint64_t workspace_bytes = 3'000'000'000;
  // That have a state of state-space layers at once; room for it is taken first.
  std::uint64_t sequences = 0;
  // Of attention that have room together: those of a group (grouped_layers()); 0: all.
  std::uint64_t layers = 0;
};

// Layers of attention as vLLM groups them (docs.vllm.ai, design/hybrid_kv_cache_manager): as many
// in each as there are of the rarer kind, with a window or without, or of the other one, where that
// has less than a quarter more. Groups of a kind are rounded up.
struct GroupedLayers {
  CacheGroups groups;
  std::uint64_t layers = 0;  // of a group
};
[[nodiscard]] GroupedLayers grouped_layers(const ModelSpec& model);

// Of a device: products of layers in spec.precision, routed experts in expert_precision, tables in
// bf16. Products to and from experts' narrower width are whole on each device. Groups of
// data-parallel attention have all but routed experts and tables each.
[[nodiscard]] std::uint64_t weight_bytes_of(const IterationSpec& spec);
// Of a token, in spec.cache_precision, on each device of a replica or group.
[[nodiscard]] std::uint64_t token_bytes_of(const IterationSpec& spec);
// Of a sequence's state of state-space layers, likewise: the scan's in fp32, the convolution's in
// bf16.
[[nodiscard]] std::uint64_t state_bytes_of(const IterationSpec& spec);
// Throws SpecProblem "model" where it has 2^62 parameters or more.
// Of all groups of data-parallel attention together, where a pipeline's `stages` have equal shares;
// 0: the weights alone do not fit.
[[nodiscard]] std::uint64_t room_for_tokens(const IterationSpec& spec,
                                            const Accelerator& accelerator,
                                            const MemoryRule& rule = {}, std::uint64_t stages = 1);

}  // namespace exawarp::model::serving
