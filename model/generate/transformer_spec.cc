// Names and defaults of a transformer's specification; see transformer_spec.h.
#include "model/generate/transformer_spec.h"

#include "model/workload/named.h"

namespace exawarp::model {

ModelFamily family_from_name(const std::string& key, const std::string& name) {
  using T = ModelFamily;
  static constexpr std::array<Named<T>, 3> kTable{{
      {"decoder", T::kDecoder},
      {"encoder_decoder", T::kEncoderDecoder},
      {"vision", T::kVision},
  }};
  return value_named<T>(key, name, kTable);
}

Sharding sharding_from_name(const std::string& key, const std::string& name) {
  using T = Sharding;
  static constexpr std::array<Named<T>, 5> kTable{{
      {"none", T::kNone},
      {"zero1", T::kZero1},
      {"zero2", T::kZero2},
      {"zero3", T::kZero3},
      {"fsdp", T::kZero3},
  }};
  return value_named<T>(key, name, kTable);
}

ContextMethod context_method_from_name(const std::string& key, const std::string& name) {
  using T = ContextMethod;
  static constexpr std::array<Named<T>, 3> kTable{{
      {"ring", T::kRing},
      {"all_gather", T::kAllGather},
      {"ulysses", T::kUlysses},
  }};
  return value_named<T>(key, name, kTable);
}

ScheduleKind schedule_from_name(const std::string& key, const std::string& name) {
  using T = ScheduleKind;
  static constexpr std::array<Named<T>, 4> kTable{{
      {"gpipe", T::kGpipe},
      {"1f1b", T::k1F1B},
      {"interleaved", T::k1F1B},
      {"zb_h1", T::kZeroH1},
  }};
  return value_named<T>(key, name, kTable);
}

Recompute recompute_from_name(const std::string& key, const std::string& name) {
  using T = Recompute;
  static constexpr std::array<Named<T>, 3> kTable{{
      {"none", T::kNone},
      {"selective", T::kSelective},
      {"full", T::kFull},
  }};
  return value_named<T>(key, name, kTable);
}

OptimizerKind optimizer_from_name(const std::string& key, const std::string& name) {
  using T = OptimizerKind;
  static constexpr std::array<Named<T>, 2> kTable{{
      {"adam", T::kAdam},
      {"sgd", T::kSgd},
  }};
  return value_named<T>(key, name, kTable);
}

TensorOverlap tensor_overlap_from_name(const std::string& key, const std::string& name) {
  using T = TensorOverlap;
  static constexpr std::array<Named<T>, 3> kTable{{
      {"none", T::kNone},
      {"backward", T::kBackward},
      {"pipelined", T::kPipelined},
  }};
  return value_named<T>(key, name, kTable);
}

GradientReduction reduction_from_name(const std::string& key, const std::string& name) {
  using T = GradientReduction;
  static constexpr std::array<Named<T>, 3> kTable{{
      {"auto", T::kAuto},
      {"step", T::kStep},
      {"micro_batch", T::kMicroBatch},
  }};
  return value_named<T>(key, name, kTable);
}

std::int64_t kv_heads_of(const ModelSpec& model) {
  return model.kv_heads != 0 ? model.kv_heads : model.heads;
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
