// Defaults of a transformer's specification; see transformer_spec.h.
#include "model/generate/transformer_spec.h"

namespace exawarp::model {

std::int64_t kv_heads_of(const ModelSpec& model) {
  return model.kv_heads != 0 ? model.kv_heads : model.heads;
}

LayerKind layer_kind(const ModelSpec& model, std::int64_t index) {
  if (model.pattern.empty()) return LayerKind::kWhole;
  switch (model.pattern.at(static_cast<std::size_t>(index))) {
    case 'M':
      return LayerKind::kMamba;
    case '-':
      return LayerKind::kFeedForward;
    case 'E':
      return LayerKind::kExperts;
    default:
      return LayerKind::kAttention;
  }
}

std::int64_t expert_width_of(const ModelSpec& model) {
  return model.moe.latent != 0 ? model.moe.latent : model.hidden;
}

bool is_windowed(const ModelSpec& model, std::int64_t index) {
  if (model.window == 0) return false;
  return model.full_attention_every == 0 || (index + 1) % model.full_attention_every != 0;
}

std::int64_t head_dim_of(const ModelSpec& model) {
  return model.head_dim != 0 ? model.head_dim : model.hidden / model.heads;
}

// A vision transformer's sequence: its patches and the class token (Dosovitskiy et al., ICLR 2021).
std::int64_t tokens_of(const TransformerSpec& spec) {
  if (spec.model.family != ModelFamily::kVision) return spec.sequence_length;
  const std::int64_t edge = spec.model.image / spec.model.patch;
  return edge * edge + 1;
}

std::int64_t encoder_tokens_of(const TransformerSpec& spec) {
  return spec.encoder_sequence_length != 0 ? spec.encoder_sequence_length : spec.sequence_length;
}

std::int64_t layers_of(const ModelSpec& model) {
  return model.layers + (model.family == ModelFamily::kEncoderDecoder ? model.encoder_layers : 0);
}

std::int64_t expert_tensor_of(const ParallelSpec& parallel) {
  return parallel.expert_tensor != 0 ? parallel.expert_tensor : parallel.tensor;
}

std::int64_t state_bytes_of(const OptimizerSpec& optimizer) {
  if (optimizer.state_bytes != 0) return optimizer.state_bytes;
  return optimizer.kind == OptimizerKind::kAdam ? 12 : 8;
}

schema::DataType parameter_precision_of(const TransformerSpec& spec) {
  return spec.parameter_precision != schema::DataType::NONE ? spec.parameter_precision
                                                            : spec.precision;
}

schema::DataType attention_precision_of(const TransformerSpec& spec) {
  return spec.attention_precision != schema::DataType::NONE ? spec.attention_precision
                                                            : spec.precision;
}

schema::DataType dispatch_precision_of(const TransformerSpec& spec) {
  const schema::DataType own = spec.routing.dispatch_precision;
  return own != schema::DataType::NONE ? own : spec.precision;
}

KernelSpec kernels_of(KernelPreset preset) {
  switch (preset) {
    case KernelPreset::kIdeal:
      return {.accumulation = Accumulation::kNone,
              .casts = false,
              .transposes = false,
              .fused_biases = true,
              .unscale = false,
              .clip = false,
              .copies = false};
    case KernelPreset::kMegatron2021:
      return {.accumulation = Accumulation::kSeparate, .fused_loss = false};
    case KernelPreset::kTransformerEngine:
      return {};
    case KernelPreset::kEager:
      break;
  }
  return {.accumulation = Accumulation::kSeparate,
          .fused_softmax = false,
          .fused_activation = false,
          .fused_residual = false,
          .fused_loss = false,
          .fused_casts = false};
}

bool reduces_each_micro_batch(const TransformerSpec& spec) {
  if (spec.gradient_reduction != GradientReduction::kAuto) {
    return spec.gradient_reduction == GradientReduction::kMicroBatch;
  }
  const Sharding sharding = spec.parallel.sharding;
  return sharding == Sharding::kZero2 ||
         (sharding == Sharding::kZero3 && spec.parallel.reshard_after_forward);
}

std::int64_t micro_batches_of(const TransformerSpec& spec) {
  return spec.global_batch_sequences / (spec.parallel.data * spec.micro_batch_sequences);
}

}  // namespace exawarp::model
