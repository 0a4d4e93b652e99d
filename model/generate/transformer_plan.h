// Inside the transformer generator: what the programs of all stages share.
#pragma once

#include <cstdint>
#include <vector>

#include "model/generate/expert_routing.h"
#include "model/generate/schedule.h"
#include "model/generate/transformer_mesh.h"
#include "model/generate/transformer_spec.h"

namespace exawarp::model {

struct TransformerPlan {
  const TransformerSpec& spec;
  PipelineShape shape{};
  std::vector<std::uint32_t> chunk_layers{};  // by chunk of the model, p * v of them
  std::vector<std::uint32_t> first_layer{};   // of each chunk
  std::uint32_t layers = 0;
  std::uint32_t decoder_begin = 0;                // encoder-decoder: the first layer of the decoder
  std::vector<std::uint32_t> embedding_stages{};  // that share a tied embedding
  TransformerMesh mesh{};
  ExpertRouting routing{};
  std::uint32_t expert_ranks_of_node = 0;  // routing.node_devices; 0: tokens go straight to experts
  // By pattern of the routing: NodeFields::sizes of the all-to-all to the experts, and back.
  std::vector<std::uint32_t> dispatch_sizes{}, combine_sizes{};

  [[nodiscard]] std::uint32_t tensor() const {
    return static_cast<std::uint32_t>(spec.parallel.tensor);
  }
  [[nodiscard]] std::uint32_t context() const {
    return static_cast<std::uint32_t>(spec.parallel.context);
  }
  [[nodiscard]] std::uint32_t expert() const {
    return static_cast<std::uint32_t>(spec.parallel.expert);
  }
  [[nodiscard]] bool splits_sequence() const {
    return spec.parallel.tensor > 1 && spec.parallel.sequence_parallel;
  }
  [[nodiscard]] std::uint32_t stage_of(std::uint32_t model_chunk) const {
    return model_chunk % shape.stages;
  }
  // The chunk of the model that layer `index` is in.
  [[nodiscard]] std::uint32_t chunk_of(std::uint32_t index) const {
    std::uint32_t chunk = 0;
    while (index >= first_layer[chunk] + chunk_layers[chunk]) ++chunk;
    return chunk;
  }
  // The chunk whose first layer reads the decoder's embedding.
  [[nodiscard]] bool starts_decoder(std::uint32_t model_chunk) const {
    return spec.model.family == ModelFamily::kEncoderDecoder &&
           chunk_of(decoder_begin) == model_chunk;
  }
};

}  // namespace exawarp::model
