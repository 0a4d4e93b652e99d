// What a rank holds: parameters and their state, then activations as micro-batches come and go.
#include "model/generate/transformer_memory.h"

#include <algorithm>

namespace exawarp::model {
namespace {

// What a micro-batch leaves behind for a layer's backward pass.
std::uint64_t saved_of(const LayerCosts& layer, const TransformerSpec& spec,
                       std::uint32_t in_chunk) {
  if (recomputes_layer(spec, in_chunk)) return layer.saved.input;
  const bool selective = spec.recompute.kind == Recompute::kSelective;
  const bool latent = spec.recompute.kind == Recompute::kLatent;
  const bool experts = spec.recompute.kind == Recompute::kExperts;
  return layer.saved.input + layer.saved.rest - (latent ? layer.saved.again : 0) -
         (experts ? layer.saved.experts : 0) +
         (selective ? 0 : layer.saved.scores);
}

}  // namespace

bool recomputes_layer(const TransformerSpec& spec, std::uint32_t in_chunk) {
  if (spec.recompute.kind != Recompute::kFull) return false;
  return spec.recompute.layers == 0 || in_chunk < spec.recompute.layers;
}

ActivationMemory::ActivationMemory(const TransformerPlan& plan, const TransformerCosts& costs,
                                   std::uint32_t stage, const StateWriter& state)
    : plan_(plan), costs_(costs), stage_(stage) {
  const TransformerSpec& spec = plan.spec;
  const ParameterCount all = state.parameters();
  const std::uint64_t parameters = all.dense + all.experts;
  const std::uint64_t share = state.share();
  const bool zero3 = spec.parallel.sharding == Sharding::kZero3;
  const bool keeps = zero3 && !spec.parallel.reshard_after_forward;
  const bool shards_gradients =
      spec.parallel.sharding != Sharding::kNone && reduces_each_micro_batch(spec);
  memory_.weights = width_of(spec.precision) *
                    (zero3 ? share + (keeps && share != parameters ? parameters : 0) : parameters);
  memory_.gradients = width_of(spec.gradient_precision) * (shards_gradients ? share : parameters);
  memory_.optimizer = static_cast<std::uint64_t>(state_bytes_of(spec.optimizer)) * share;
  if (zero3 && !keeps && share != parameters) {
    const auto units = static_cast<std::uint64_t>(spec.parallel.prefetch_layers) + 1;
    gathered_ = std::min(units * state.largest_unit(), parameters) * width_of(spec.precision);
  }
}

std::uint64_t ActivationMemory::saved(std::uint32_t chunk) const {
  const std::uint32_t at = plan_.model_chunk(stage_, chunk);
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < plan_.chunk_layers[at]; ++i) {
    sum += saved_of(costs_.layer(plan_.first_layer[at] + i), plan_.spec, i);
  }
  if (at + 1 == plan_.chunk_layers.size()) {
    sum += (1 + static_cast<std::uint64_t>(plan_.spec.model.predictions)) * costs_.logits_bytes;
  }
  return sum;
}

std::uint64_t ActivationMemory::workspace(const Slot& slot) const {
  const std::uint32_t at = plan_.model_chunk(stage_, slot.chunk);
  std::uint64_t largest = 0;
  for (std::uint32_t i = 0; i < plan_.chunk_layers[at]; ++i) {
    const LayerCosts& layer = costs_.layer(plan_.first_layer[at] + i);
    std::uint64_t needed = layer.whole_bytes;
    if (slot.pass != Pass::forward) {
      needed = 2 * layer.whole_bytes + layer.saved.all() - saved_of(layer, plan_.spec, i);
    }
    largest = std::max(largest, needed);
  }
  return largest;
}

void ActivationMemory::begin(const Slot& slot, const Slot* beside, std::uint32_t node) {
  std::uint64_t working = 0;
  for (const Slot* const each : {&slot, beside}) {
    if (each == nullptr) continue;
    if (each->pass == Pass::forward) activations_ += saved(each->chunk);
    working += workspace(*each);
  }
  point(node, activations_ + gathered_ + working);
}

void ActivationMemory::end(const Slot& slot, const Slot* beside, std::uint32_t node) {
  for (const Slot* const each : {&slot, beside}) {
    if (each == nullptr) continue;
    if (each->pass == Pass::backward || each->pass == Pass::weight_gradient) {
      activations_ -= saved(each->chunk);
    }
  }
  point(node, activations_ + gathered_);
}

std::uint64_t ActivationMemory::communicators() const {
  const ParallelSpec& parallel = plan_.spec.parallel;
  const TransformerMesh& mesh = plan_.mesh;
  std::uint64_t count = 0;
  for (const std::int64_t size : {parallel.tensor, parallel.context, parallel.expert}) {
    count += size > 1 ? 1 : 0;
  }
  for (const std::uint32_t size :
       {mesh.dense.shards, mesh.dense.replicas, mesh.experts.shards, mesh.experts.replicas}) {
    count += size > 1 ? 1 : 0;
  }
  if (plan_.shape.stages > 1) count += 2;
  const std::vector<std::uint32_t>& tied = plan_.embedding_stages;
  if (tied.size() > 1 && std::find(tied.begin(), tied.end(), stage_) != tied.end()) ++count;
  return count;
}

void ActivationMemory::point(std::uint32_t node, std::uint64_t tensors) {
  const ReserveSpec& reserves = plan_.spec.reserves;
  const auto lost =
      static_cast<std::uint64_t>(static_cast<double>(tensors) * reserves.fragmentation);
  const std::uint64_t bytes =
      tensors + lost + static_cast<std::uint64_t>(reserves.framework) +
      static_cast<std::uint64_t>(reserves.communicator) * communicators();
  std::vector<ProgramMemory::Point>& line = memory_.timeline;
  if (!line.empty() && line.back().node == node) {
    line.back().bytes = bytes;
  } else {
    line.push_back({node, bytes});
  }
}

ProgramMemory ActivationMemory::take() {
  point(memory_.timeline.empty() ? 0 : memory_.timeline.back().node + 1, 0);
  return memory_;
}

}  // namespace exawarp::model
