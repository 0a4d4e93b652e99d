// Inside the transformer generator: what the programs of all stages share.
#pragma once

#include <algorithm>
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
  // Micro-batches come in at both ends of the pipeline, and stages share chunks in pairs.
  [[nodiscard]] bool both_ways() const { return spec.schedule.kind == ScheduleKind::kDualPipe; }
  // Of the chunk's first stage.
  [[nodiscard]] std::uint32_t stage_of(std::uint32_t model_chunk) const {
    return both_ways() ? std::min(model_chunk, shape.stages - 1 - model_chunk)
                       : model_chunk % shape.stages;
  }
  [[nodiscard]] std::uint32_t model_chunk(std::uint32_t stage, std::uint32_t chunk) const {
    return model_chunk_of(spec.schedule.kind, shape, stage, chunk);
  }
  // The number of the chunk of the model on its stages.
  [[nodiscard]] std::uint32_t chunk_at(std::uint32_t model_chunk) const {
    return both_ways() ? (model_chunk < shape.stages / 2 ? 0 : 1) : model_chunk / shape.stages;
  }
  // Micro-batches that a chunk of a stage works on, which are numbered one after the other.
  [[nodiscard]] std::uint32_t micro_batches_of_chunk() const {
    return both_ways() ? shape.micro_batches / 2 : shape.micro_batches;
  }
  // The embedding and the head are one table on every stage that has either.
  [[nodiscard]] bool shares_table() const {
    return spec.model.tied_embeddings && (shape.stages == 1 || both_ways());
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
