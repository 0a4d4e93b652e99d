#include "model/serving/kv_room.h"

#include <algorithm>

#include "model/generate/layer_counts.h"
#include "model/generate/spec_range.h"
#include "model/generate/transformer_costs.h"
#include "model/generate/transformer_mamba.h"

namespace exawarp::model::serving {
namespace {

using schema::DataType;

constexpr double kRoomMax = 0x1p40;  // tokens of a group: more than any study has
constexpr std::int64_t kWindowMax = std::int64_t{1} << 30;  // likewise, of a request

std::uint64_t expert_parameters(const ModelSpec& m) {
  if (m.moe.experts == 0) return 0;
  const std::uint64_t width = unsign(expert_width_of(m));
  const std::uint64_t of_one = (m.gated_ffn ? 3u : 2u) * width * unsign(m.moe.ffn);
  return layer_counts(m).experts * unsign(m.moe.experts) * of_one;
}

// To experts' narrower width and back, of all layers.
std::uint64_t latent_parameters(const ModelSpec& m) {
  return layer_counts(m).experts * 2 * unsign(m.hidden) * unsign(m.moe.latent);
}

}  // namespace

GroupedLayers grouped_layers(const ModelSpec& m) {
  const LayerCounts counts = layer_counts(m);
  const std::uint64_t windowed = counts.windowed, full = counts.attention - windowed;
  if (windowed == 0) return {.groups = {}, .layers = full};
  const auto window = static_cast<std::uint32_t>(std::min(m.window, kWindowMax));
  if (full == 0) return {{.full = 0, .windowed = 1, .window = window}, windowed};
  const auto [fewer, more] = std::minmax(full, windowed);
  const std::uint64_t layers = 4 * more < 5 * fewer ? more : fewer;
  const auto groups = [layers](std::uint64_t of) {
    return static_cast<std::uint32_t>((of + layers - 1) / layers);
  };
  return {{.full = groups(full), .windowed = groups(windowed), .window = window}, layers};
}

std::uint64_t weight_bytes_of(const IterationSpec& spec) {
  const ModelSpec& m = spec.model;
  const std::uint64_t devices = unsign(spec.tensor), groups = unsign(spec.attention_data);
  const std::uint64_t tables =
      (m.tied_embeddings ? 1u : 2u) * unsign(m.vocabulary) * unsign(m.hidden);
  const std::uint64_t experts = expert_parameters(m);
  const std::uint64_t latents = latent_parameters(m);
  const std::uint64_t rest = parameter_count(m) - experts - latents - tables;
  const DataType of_experts =
      spec.expert_precision == DataType::NONE ? spec.precision : spec.expert_precision;
  return weight_bytes(spec.precision, latents + rest * groups / devices) +
         weight_bytes(of_experts, experts / devices) +
         weight_bytes(DataType::BF16, tables / devices);
}

KvUnits kv_units_of(const ModelSpec& m, DataType cache_precision) {
  const std::uint64_t element = width_of(cache_precision);
  if (m.mla.key_value_rank != 0) {  // a latent, whole on each device
    return {1, element * unsign(m.mla.key_value_rank + m.mla.rope_dim)};
  }
  return {unsign(kv_heads_of(m)), element * 2 * unsign(head_dim_of(m))};
}

std::uint64_t token_bytes_of(const IterationSpec& spec) {
  const KvUnits units = kv_units_of(spec.model, spec.cache_precision);
  const std::uint64_t ranks = unsign(spec.tensor / spec.attention_data);
  const std::uint64_t of_layer = std::max<std::uint64_t>(1, units.count / ranks) * units.bytes;
  return layer_counts(spec.model).attention * of_layer;
}

std::uint64_t state_bytes_of(const IterationSpec& spec) {
  constexpr Wide kScanElement = 4, kConvolutionElement = 2;
  const MambaState state = mamba_state(spec.model.mamba);
  const Wide of_layer = kScanElement * state.scan + kConvolutionElement * state.convolution;
  return to_count(layer_counts(spec.model).mamba * of_layer / wide(spec.tensor));
}

std::uint64_t room_for_tokens(const IterationSpec& spec, const Accelerator& accelerator,
                              const MemoryRule& rule, std::uint64_t stages) {
  const std::uint64_t states = rule.sequences * state_bytes_of(spec);
  const std::uint64_t taken = (weight_bytes_of(spec) + states) / stages + rule.workspace_bytes;
  const double left =
      rule.share_of_rest * (rule.share * static_cast<double>(accelerator.memory_bytes) -
                            static_cast<double>(taken));
  if (left <= 0) return 0;
  std::uint64_t bytes = token_bytes_of(spec);
  if (rule.layers != 0) bytes = bytes / layer_counts(spec.model).attention * rule.layers;
  const double of_token = static_cast<double>(bytes) / static_cast<double>(stages);
  const auto of_group = static_cast<std::uint64_t>(std::min(left / of_token, kRoomMax));
  return unsign(spec.attention_data) * of_group;
}

}  // namespace exawarp::model::serving
