#include "model/serving/kv_room.h"

#include <algorithm>

#include "model/generate/expert_routing.h"
#include "model/generate/spec_range.h"
#include "model/generate/transformer_costs.h"

namespace exawarp::model::serving {
namespace {

using schema::DataType;

constexpr double kRoomMax = 0x1p40;  // tokens of a group: more than any study has

// nvfp4 has half a byte, and a factor of a byte for each 16.
std::uint64_t bytes_of_weights(DataType type, std::uint64_t elements) {
  return type == DataType::NVFP4 ? elements * 9 / 16 : elements * width_of(type);
}

std::uint64_t expert_parameters(const ModelSpec& m) {
  if (m.moe.experts == 0) return 0;
  const std::uint64_t of_one = (m.gated_ffn ? 3u : 2u) * unsign(m.hidden) * unsign(m.moe.ffn);
  return expert_layers_of(m) * unsign(m.moe.experts) * of_one;
}

}  // namespace

std::uint64_t weight_bytes_of(const IterationSpec& spec) {
  const ModelSpec& m = spec.model;
  const std::uint64_t devices = unsign(spec.tensor), groups = unsign(spec.attention_data);
  const std::uint64_t tables =
      (m.tied_embeddings ? 1u : 2u) * unsign(m.vocabulary) * unsign(m.hidden);
  const std::uint64_t experts = expert_parameters(m);
  const std::uint64_t rest = parameter_count(m) - experts - tables;
  const DataType of_experts =
      spec.expert_precision == DataType::NONE ? spec.precision : spec.expert_precision;
  return bytes_of_weights(spec.precision, rest * groups / devices) +
         bytes_of_weights(of_experts, experts / devices) +
         bytes_of_weights(DataType::BF16, tables / devices);
}

std::uint64_t token_bytes_of(const IterationSpec& spec) {
  const ModelSpec& m = spec.model;
  const std::uint64_t layers = unsign(m.layers);
  const std::uint64_t element = width_of(spec.cache_precision);
  if (m.mla.key_value_rank != 0) {  // latents, whole on each device
    return element * layers * unsign(m.mla.key_value_rank + m.mla.rope_dim);
  }
  const std::uint64_t ranks = unsign(spec.tensor / spec.attention_data);
  const std::uint64_t heads = std::max<std::uint64_t>(1, unsign(kv_heads_of(m)) / ranks);
  return element * 2 * layers * heads * unsign(head_dim_of(m));
}

std::uint64_t room_for_tokens(const IterationSpec& spec, const Accelerator& accelerator,
                              const MemoryRule& rule, std::uint64_t stages) {
  const std::uint64_t taken = weight_bytes_of(spec) / stages + rule.workspace_bytes;
  const double left =
      rule.share_of_rest * (rule.share * static_cast<double>(accelerator.memory_bytes) -
                            static_cast<double>(taken));
  if (left <= 0) return 0;
  const double of_token = static_cast<double>(token_bytes_of(spec)) / static_cast<double>(stages);
  const auto of_group = static_cast<std::uint64_t>(std::min(left / of_token, kRoomMax));
  return unsign(spec.attention_data) * of_group;
}

}  // namespace exawarp::model::serving
