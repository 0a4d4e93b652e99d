#include "model/generate/layer_counts.h"

#include "model/generate/expert_routing.h"

namespace exawarp::model {

LayerCounts layer_counts(const ModelSpec& model) {
  LayerCounts counts;
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const LayerKind kind = layer_kind(model, i);
    const bool attends = kind == LayerKind::kWhole || kind == LayerKind::kAttention;
    const bool has_block = kind != LayerKind::kAttention && kind != LayerKind::kMamba;
    if (attends) ++counts.attention;
    if (attends && is_windowed(model, i)) ++counts.windowed;
    if (kind == LayerKind::kMamba) ++counts.mamba;
    if (has_block) ++(has_experts(model, i) ? counts.experts : counts.feed_forward);
  }
  return counts;
}

}  // namespace exawarp::model
