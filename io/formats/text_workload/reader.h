// The text workloads of ASTRA-sim 1.0: a kind of parallelism, a number of layers, a line for each.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/workload/workload.capnp.h"

namespace exawarp::io {

enum class TextParallelism {
  micro,  // weight-gradient collectives alone
  data,
  model,
  hybrid_data_model,  // data-parallel groups are nearest
  hybrid_model_data,  // model-parallel groups are nearest
  hybrid_dlrm,
  hybrid_transformer,
  hybrid_transformer_fwd_in_bckwd,  // with recomputation
  hybrid_customized,                // each layer has its own
};

// A computation of a layer and the collective after it.
struct TextPass {
  std::uint64_t cycles = 0;
  std::optional<model::schema::CollectiveType> collective;  // none: NONE
  std::uint64_t bytes = 0;
};

struct TextLayer {
  std::string name;
  TextPass forward, input_gradient, weight_gradient;
  std::uint64_t update_cycles = 0;
  TextParallelism parallelism = TextParallelism::data;
  bool checkpoint = false;               // recomputation starts here
  bool initiates_recomputation = false;  // its backward pass needs it
};

struct TextWorkload {
  TextParallelism parallelism = TextParallelism::data;
  std::uint32_t last_bottom_layer = 0;    // DLRM
  std::uint32_t model_parallel_size = 0;  // transformers; 0: not said
  std::vector<TextLayer> layers;
};

// Throws core::InputError with `place` and the line.
[[nodiscard]] TextWorkload read_text_workload(std::string_view text, const std::string& place);

}  // namespace exawarp::io
