// What makes a transformer's network impossible, however it is split; see transformer_refusal.h.
#include <string>

#include "model/generate/spec_range.h"
#include "model/generate/transformer_refusal.h"
#include "model/workload/graph.h"

namespace exawarp::model {
namespace {

void check_experts(const ModelSpec& model) {
  const MoeSpec& moe = model.moe;
  in_range("model.moe.experts", moe.experts, 0, kCountMax);
  if (moe.experts == 0) return;
  if (model.family != ModelFamily::kDecoder) {
    refuse("model.moe", "stands in a model of another family; expected family: decoder");
  }
  in_range("model.moe.top_k", moe.top_k, 1, moe.experts);
  in_range("model.moe.ffn", moe.ffn, 1, kWidthMax);
  in_range("model.moe.shared_ffn", moe.shared_ffn, 0, kWidthMax);
  in_range("model.moe.dense_layers", moe.dense_layers, 0, model.layers);
  in_range("model.moe.every", moe.every, 1, kCountMax);
  in_range("model.moe.latent", moe.latent, 0, kWidthMax);
}

void check_mamba(const MambaSpec& mamba) {
  in_range("model.mamba.heads", mamba.heads, 1, kCountMax);
  in_range("model.mamba.head_dim", mamba.head_dim, 1, kCountMax);
  in_range("model.mamba.state_dim", mamba.state_dim, 1, kCountMax);
  in_range("model.mamba.groups", mamba.groups, 1, mamba.heads);
  in_range("model.mamba.convolution", mamba.convolution, 1, kPartsMax);
  in_range("model.mamba.chunk", mamba.chunk, 1, kCountMax);
  divides("model.mamba.groups", mamba.groups, "heads", mamba.heads);
}

bool has_layer(const ModelSpec& model, char letter) {
  return model.pattern.find(letter) != std::string::npos;
}

// Which of its layers have experts says a pattern, and neither dense_layers nor every.
void check_pattern(const ModelSpec& model) {
  const std::string& pattern = model.pattern;
  if (pattern.empty()) {
    if (model.mamba.heads == 0) return;
    refuse("model.mamba", "stands in a model without a pattern; expected model.pattern beside it");
  }
  const std::size_t strange = pattern.find_first_not_of("M*-E");
  if (strange != std::string::npos) {
    refuse("model.pattern", "\"{}\" at letter {}; expected M, *, - or E",
           printable(pattern.substr(strange, 1)), strange + 1);
  }
  if (static_cast<std::int64_t>(pattern.size()) != model.layers) {
    refuse("model.pattern", "has {} layers; expected as many as model.layers, {}", pattern.size(),
           model.layers);
  }
  if (model.family != ModelFamily::kDecoder || model.blocks != BlockOrder::kSequential) {
    refuse("model.pattern",
           "stands in a model of another family, or of parallel blocks; expected family: decoder "
           "and blocks: sequential");
  }
  if (has_layer(model, 'M') != (model.mamba.heads != 0)) {
    refuse("model.pattern", "{} layers \"M\" {} model.mamba; expected both or neither",
           has_layer(model, 'M') ? "has" : "has no", has_layer(model, 'M') ? "without" : "beside");
  }
  if (has_layer(model, 'E') != (model.moe.experts != 0)) {
    refuse("model.pattern", "{} layers \"E\" {} model.moe; expected both or neither",
           has_layer(model, 'E') ? "has" : "has no", has_layer(model, 'E') ? "without" : "beside");
  }
  if (model.moe.dense_layers != 0 || model.moe.every != 1) {
    refuse("model.moe", "has dense_layers or every beside model.pattern; expected one of them");
  }
  if (has_layer(model, 'M')) check_mamba(model.mamba);
}

void check_latent_attention(const MlaSpec& mla) {
  in_range("model.mla.key_value_rank", mla.key_value_rank, 0, kWidthMax);
  if (mla.key_value_rank == 0) return;
  in_range("model.mla.query_rank", mla.query_rank, 0, kWidthMax);
  in_range("model.mla.nope_dim", mla.nope_dim, 1, kWidthMax);
  in_range("model.mla.rope_dim", mla.rope_dim, 0, kWidthMax);
  in_range("model.mla.value_dim", mla.value_dim, 1, kWidthMax);
}

void check_vision(const ModelSpec& model) {
  in_range("model.image", model.image, 1, kCountMax);
  in_range("model.patch", model.patch, 1, kCountMax);
  in_range("model.channels", model.channels, 1, kCountMax);
  in_range("model.classes", model.classes, 1, kWidthMax);
  divides("model.patch", model.patch, "image", model.image);
  if (model.tied_embeddings) {
    refuse("model.tied_embeddings", "true in a vision model; expected false");
  }
}

void check_window(const ModelSpec& model) {
  in_range("model.window", model.window, 0, kWidthMax);
  in_range("model.full_attention_every", model.full_attention_every, 0, kCountMax);
  if (model.window == 0) return;
  if (model.family != ModelFamily::kDecoder || !model.causal || model.mla.key_value_rank != 0) {
    refuse("model.window",
           "stands in a model whose attention is latent or looks ahead; expected a causal decoder "
           "with heads of its own keys");
  }
}

void check_blocks(const ModelSpec& model) {
  if (model.blocks == BlockOrder::kSequential) return;
  if (model.family == ModelFamily::kEncoderDecoder || model.moe.experts != 0 ||
      model.mla.key_value_rank != 0) {
    refuse("model.blocks",
           "in parallel in a model with cross-attention, experts or latent attention; expected "
           "sequential");
  }
}

}  // namespace

void check_network(const ModelSpec& model) {
  in_range("model.layers", model.layers, 1, kCountMax);
  in_range("model.hidden", model.hidden, 1, kWidthMax);
  in_range("model.ffn", model.ffn, 1, kWidthMax);
  in_range("model.heads", model.heads, 1, kCountMax);
  in_range("model.kv_heads", model.kv_heads, 0, kCountMax);
  in_range("model.head_dim", model.head_dim, 0, kWidthMax);
  if (model.family == ModelFamily::kVision) {
    check_vision(model);
  } else {
    in_range("model.vocabulary", model.vocabulary, 1, kWidthMax);
  }
  divides("model.kv_heads", kv_heads_of(model), "heads", model.heads);
  if (model.head_dim == 0) divides("model.heads", model.heads, "hidden", model.hidden);
  const bool has_encoder = model.family == ModelFamily::kEncoderDecoder;
  in_range("model.encoder_layers", model.encoder_layers, has_encoder ? 1 : 0,
           has_encoder ? kCountMax - model.layers : 0);
  check_latent_attention(model.mla);
  check_window(model);
  check_experts(model);
  check_blocks(model);
  check_pattern(model);
  in_range("model.predictions", model.predictions, 0,
           model.family == ModelFamily::kDecoder ? kPartsMax : 0);
}

}  // namespace exawarp::model
