// Costs of a transformer's operations; see transformer_costs.h.
#include "model/generate/transformer_costs.h"

#include <algorithm>
#include <cmath>

#include "model/generate/transformer_attention.h"
#include "model/generate/transformer_ffn.h"
#include "model/generate/transformer_mamba.h"
#include "model/generate/transformer_table.h"

namespace exawarp::model {
namespace {

// What a backward pass needs of a forward pass, what can be had again from it for nothing apart.
// With sequence parallelism inputs of products are kept as shards.
void set_saved(LayerCosts& layer, const TransformerSpec& spec, const Sizes& s,
               const Sizes& memory) {
  const Wide residual = s.local_tokens * s.hidden;
  Wide rest = 0;
  Wide scores = 0;
  Wide again = 0;
  for (const AttentionCosts& a : layer.attention) {
    const Sizes& seen = a.is_cross ? memory : s;
    if (&a != &layer.attention.front()) rest += residual;  // this block's input
    rest += residual;                                      // the norm's output
    again += residual;
    if (a.down) {
      rest += s.local_tokens * wide(spec.model.mla.query_rank + spec.model.mla.key_value_rank +
                                    spec.model.mla.rope_dim);
    }
    const Wide copies =  // keys and values stay gathered
        spec.parallel.context_method == ContextMethod::kAllGather ? s.context : 1;
    rest += s.tokens * (s.query + s.query_value) / s.tensor +
            copies * seen.tokens * (s.key + s.value) / s.tensor;
    if (a.down) again += (s.tokens * s.query + copies * seen.tokens * (s.key + s.value)) / s.tensor;
    if (!spec.flash_attention) scores += s.tokens * seen.sequence * s.heads / s.tensor;
  }
  if (layer.mamba) {
    rest += mamba_saved(spec.model, s);
    again += residual;
  }
  // The feed-forward block's input, and its norm's output, but for what it shares with attention.
  const BlockOrder order = spec.model.blocks;
  const bool own_norm = layer.has_block() && order != BlockOrder::kParallel;
  const bool own_input =
      layer.has_block() && order == BlockOrder::kSequential && !layer.attention.empty();
  rest += (own_input ? 1 : 0) * residual;
  Wide block = (own_norm ? 1 : 0) * residual;
  again += block;
  const Wide g = s.ffn_matrices;
  if (layer.ffn) {
    const Wide width = layer.moe ? wide(spec.model.moe.shared_ffn) : s.ffn;
    block += (g + 1) * s.tokens * width / s.tensor;
    again += s.tokens * width / s.tensor;
  }
  if (layer.moe) {
    const MoeSpec& moe = spec.model.moe;
    const Wide split = wide(expert_tensor_of(spec.parallel));
    const Wide width = wide(expert_width_of(spec.model));
    const Wide slots = layer.moe->tensor_whole_bytes / s.element / width;
    block += slots * (2 * width + (g + 1) * wide(moe.ffn) / split);
    block += s.local_tokens * wide(moe.experts + moe.latent);
    again += slots * wide(moe.ffn) / split;
  }
  rest += block;
  // Dropout: its masks, of a byte, after each block and of the scores; and of these what it leaves.
  const Wide blocks = order == BlockOrder::kSequential ? layer.blocks() : 1;
  const Wide masks = spec.dropout ? blocks * residual : 0;
  const Wide dropped = spec.dropout ? (s.element + 1) * scores : 0;
  layer.saved = {.input = to_count(s.element * residual),
                 .scores = to_count(s.element * scores + dropped),
                 .rest = to_count(s.element * rest + masks),
                 .again = to_count(s.element * again),
                 .experts = to_count(layer.moe ? s.element * block : 0)};
}

Wide attention_parameters(const TransformerSpec& spec, const Sizes& s, const AttentionCosts& a) {
  const MlaSpec& mla = spec.model.mla;
  const Wide out = s.query_value * s.hidden;
  if (!a.down) return (s.hidden * (s.query + s.key + s.value) + out) / s.tensor;
  const Wide q_in = mla.query_rank != 0 ? wide(mla.query_rank) : s.hidden;
  const Wide latent = wide(mla.query_rank + mla.key_value_rank + mla.rope_dim);
  const Wide split =
      q_in * s.query + wide(mla.key_value_rank) * (s.heads * wide(mla.nope_dim) + s.value) + out;
  return s.hidden * latent + wide(mla.query_rank + mla.key_value_rank) + split / s.tensor;
}

void set_parameters(LayerCosts& layer, const TransformerSpec& spec, const Sizes& s) {
  const MoeSpec& moe = spec.model.moe;
  const Wide g = s.ffn_matrices;
  const Wide norms = layer.blocks() - (spec.model.blocks == BlockOrder::kParallel ? 1 : 0);
  Wide total = s.hidden * norms;
  if (layer.mamba) total += mamba_parameters(spec.model, s.hidden, s.tensor);
  for (const AttentionCosts& a : layer.attention) total += attention_parameters(spec, s, a);
  if (layer.ffn) {
    total += (g + 1) * s.hidden * (layer.moe ? wide(moe.shared_ffn) : s.ffn) / s.tensor;
  }
  if (layer.moe) {
    total += s.hidden * wide(moe.experts + 2 * moe.latent);
    layer.expert_parameters = to_count(wide(moe.experts / spec.parallel.expert) * (g + 1) *
                                       wide(expert_width_of(spec.model)) * wide(moe.ffn) /
                                       wide(expert_tensor_of(spec.parallel)));
  }
  layer.parameters = to_count(total);
}

// Of what a norm wrote in the operands' precision, a byte an element.
void fuse_cast(std::optional<OperationCost>& cast, const TransformerSpec& spec) {
  if (!cast) return;
  if (!spec.kernels.transposes) return cast.reset();
  const std::uint64_t elements = cast->flops;
  cast = OperationCost{
      .operation = Op::ELEMENTWISE,
      .name = "transpose",
      .bytes_read = elements,
      .bytes_written = elements,
      .shape = Table::stream(schema::StreamKernel::TRANSPOSE_FP8, 1, static_cast<Wide>(elements))};
}

// Parallel blocks: their outputs are summed, and the gradients of an input that they share. What
// both read is converted once.
void set_parallel_blocks(LayerCosts& layer, const TransformerSpec& spec, const Sizes& s,
                         const Table& table) {
  if (spec.model.blocks == BlockOrder::kSequential) return;
  const Wide whole = s.tokens * s.hidden;
  const Shape shape = Table::stream(schema::StreamKernel::ADD, s.tokens, s.hidden);
  layer.sum = {table.row(Op::ELEMENTWISE, "blocks.sum", whole, 2 * whole, whole, shape),
               table.row(Op::ELEMENTWISE, "blocks.sum.backward", whole, 2 * whole, whole, shape)};
  layer.ffn->out.gradient_cast.reset();
  if (spec.model.blocks == BlockOrder::kParallel) layer.ffn->in.cast.reset();
}

// Dropout, and the conversion of weights, which no routing changes.
void set_kernels(LayerCosts& layer, const TransformerSpec& spec, const Sizes& s,
                 const Table& table) {
  const Wide residual = s.local_tokens * s.hidden;
  if (spec.dropout) {
    if (spec.kernels.fused_residual) {
      layer.residual.forward = table.with_masks(layer.residual.forward, 0, residual);
    } else {
      layer.dropout = table.with_masks(
          table.row(Op::ELEMENTWISE, "dropout", residual, residual, residual), 0, residual);
    }
    layer.dropout_backward = table.with_masks(
        table.row(Op::ELEMENTWISE, "dropout.backward", residual, residual, residual), residual, 0);
  }
  if (spec.kernels.fused_casts && !spec.kernels.current_scaling &&
      spec.gemm_precision == schema::DataType::FP8) {
    for (AttentionCosts& a : layer.attention) {
      if (!a.down && !a.is_cross) fuse_cast(a.in.front().cast, spec);
    }
    if (layer.mamba) fuse_cast(layer.mamba->in.cast, spec);
    if (layer.ffn) fuse_cast(layer.ffn->in.cast, spec);
  }
  if (parameter_precision_of(spec) != schema::DataType::FP8) {
    layer.weight_cast =
        table.cast("weights.cast", static_cast<Wide>(layer.parameters) + layer.expert_parameters);
  }
}

double flops_of(const OperationCost& cost) { return static_cast<double>(cost.flops); }

// Backward is twice forward: two products for each one, and 8 for attention's 4.
double model_flops_of(const LayerCosts& layer) {
  double forward = 0;
  for (const AttentionCosts& a : layer.attention) {
    if (a.down) forward += flops_of(a.down->forward);
    for (const GemmCosts& in : a.in) forward += flops_of(in.forward);
    forward += flops_of(a.projection.forward) + a.core_model_flops;
  }
  if (layer.mamba) {
    forward += flops_of(layer.mamba->in.forward) + layer.mamba->scan_model_flops +
               flops_of(layer.mamba->out.forward);
  }
  if (layer.ffn) forward += flops_of(layer.ffn->in.forward) + flops_of(layer.ffn->out.forward);
  if (layer.moe) {
    forward += flops_of(layer.moe->router.forward) + flops_of(layer.moe->experts.in.forward) +
               flops_of(layer.moe->experts.out.forward);
    if (layer.moe->narrow) {
      forward += flops_of(layer.moe->narrow->forward) + flops_of(layer.moe->widen->forward);
    }
  }
  return 3 * forward;
}

// A layer of stack `s`; `memory`: where it looks at an encoder.
LayerCosts layer_of(const TransformerSpec& spec, LayerKind kind, const Sizes& s,
                    const Sizes* memory, bool causal, Wide window,
                    std::optional<ExpertCosts> experts) {
  const Table table(spec);
  const Wide residual = s.local_tokens * s.hidden;
  const bool attends = kind == LayerKind::kWhole || kind == LayerKind::kAttention;
  const bool has_block = kind != LayerKind::kAttention && kind != LayerKind::kMamba;
  LayerCosts layer;
  if (attends) layer.attention = {self_attention(spec, s, table, causal, window)};
  if (kind == LayerKind::kMamba) layer.mamba = mamba_block(spec, s, table);
  if (memory != nullptr) layer.attention.push_back(cross_attention(spec, s, *memory, table));
  layer.norm = norm_of(s, table);
  const Shape sum = Table::stream(schema::StreamKernel::ADD, s.local_tokens, s.hidden);
  layer.residual = {
      table.row(Op::ELEMENTWISE, "residual", residual, 2 * residual, residual, sum),
      table.row(Op::ELEMENTWISE, "residual.backward", residual, 2 * residual, residual, sum)};
  if (has_block && !experts) layer.ffn = dense_ffn(spec, s, table);
  if (experts && spec.model.moe.shared_ffn != 0) layer.ffn = shared_ffn(spec, s, table);
  layer.moe = std::move(experts);
  const Wide whole = s.element * s.tokens * s.hidden;
  layer.whole_bytes = to_count(whole);
  layer.shard_bytes = to_count(whole / s.tensor);
  set_saved(layer, spec, s, memory != nullptr ? *memory : s);
  set_parameters(layer, spec, s);
  set_parallel_blocks(layer, spec, s, table);
  set_kernels(layer, spec, s, table);
  layer.model_flops = model_flops_of(layer);
  return layer;
}

// What tells a decoder's layers apart.
struct DecoderKind {
  LayerKind kind;
  bool is_windowed;
  std::optional<std::uint32_t> pattern;  // of the routing, where it has experts
  bool operator==(const DecoderKind&) const = default;
};

// Layers with experts take the patterns of the routing in turn.
void add_decoder_kinds(TransformerCosts& costs, const TransformerSpec& spec, const Sizes& s,
                       const ExpertRouting& routing, std::uint32_t expert_rank) {
  const ModelSpec& model = spec.model;
  const Table table(spec);
  const bool causal = model.family != ModelFamily::kVision && model.causal;
  const bool is_narrow = model.window != 0 && wide(model.window) < s.sequence;
  std::vector<DecoderKind> known;
  std::size_t with_experts = 0;
  for (std::int64_t i = 0; i < model.layers; ++i) {
    DecoderKind kind{layer_kind(model, i), is_narrow && is_windowed(model, i), {}};
    if (has_experts(model, i)) {
      kind.pattern = static_cast<std::uint32_t>(with_experts++ % routing.slots.size());
    }
    const auto found = std::find(known.begin(), known.end(), kind);
    costs.kind_of_layer.push_back(static_cast<std::uint8_t>(found - known.begin()));
    if (found != known.end()) continue;
    known.push_back(kind);
    std::optional<ExpertCosts> experts;
    if (kind.pattern) experts = experts_of(spec, s, table, routing, expert_rank, *kind.pattern);
    costs.kinds.push_back(layer_of(spec, kind.kind, s, nullptr, causal,
                                   kind.is_windowed ? wide(model.window) : 0, std::move(experts)));
  }
}

// As a loss over a split vocabulary is written in PyTorch (megatron/mpu/cross_entropy.py): logits
// are copied to fp32, then come their maximum, the subtraction, the exponential, its sum and the
// division, each a pass in fp32; backward multiplies by the gradient and copies to the precision.
void separate_loss(TransformerCosts& costs, Wide logits, const Sizes& s) {
  const Wide full = kFp32Bytes * logits;
  const Wide narrow = s.element * logits;
  const auto set = [](OperationCost& cost, Wide read, Wide written) {
    cost.bytes_read = to_count(read);
    cost.bytes_written = to_count(written);
  };
  set(costs.loss_maximum, narrow + full, full);
  set(costs.loss_sum, 4 * full, 3 * full);
  set(costs.loss_gradient, 2 * full, full + narrow);
}

void set_edge_costs(TransformerCosts& costs, const TransformerSpec& spec, const Sizes& s) {
  const Table table(spec);
  const Wide whole = s.tokens * s.hidden;
  const Wide logits = s.tokens * s.vocabulary / s.tensor;
  costs.embedding = {table.row(Op::EMBEDDING, "embedding", 0, whole, whole),
                     table.row(Op::EMBEDDING, "embedding.backward", whole, whole, whole)};
  costs.head =
      table.edge_gemm({"head", "head.dx", "head.dw"}, s.tokens, s.hidden, s.vocabulary / s.tensor);
  costs.loss_maximum = table.row(Op::SOFTMAX, "loss.maximum", logits, logits, 0);
  costs.loss_maximum.bytes_written = to_count(kFp32Bytes * s.tokens);  // whatever the precision
  costs.loss_sum = table.row(Op::SOFTMAX, "loss.sum", 3 * logits, logits, 0);
  costs.loss_sum.bytes_written = to_count(2 * kFp32Bytes * s.tokens);
  costs.loss_gradient = table.row(Op::SOFTMAX, "loss.gradient", 2 * logits, logits, logits);
  if (!spec.kernels.fused_loss) separate_loss(costs, logits, s);
  costs.loss_bytes = to_count(kFp32Bytes * s.tokens);
  costs.logits_bytes = to_count(2 * s.element * s.local_tokens * s.hidden + kFp32Bytes * logits);
  costs.embedding_parameters = to_count(s.vocabulary * s.hidden / s.tensor);
  costs.head_parameters = costs.embedding_parameters;
  costs.edge_model_flops = 3 * flops_of(costs.head.forward);
  costs.final_norm_parameters = to_count(s.hidden);
}

void set_predictions(TransformerCosts& costs, const TransformerSpec& spec, const Sizes& s) {
  const auto modules = static_cast<std::uint64_t>(spec.model.predictions);
  if (modules == 0) return;
  costs.prediction = Table(spec).gemm({"prediction_in", "prediction_in.dx", "prediction_in.dw"},
                                      s.local_tokens, 2 * s.hidden, s.hidden);
  costs.edge_model_flops += static_cast<double>(modules) *
                            (costs.edge_model_flops + 3 * flops_of(costs.prediction->forward));
  costs.final_norm_parameters += to_count(modules * (2 * s.hidden * s.hidden + 3 * s.hidden));
}

// Patches are cut out and projected, whole on each tensor-parallel rank, as is the head.
void set_vision_edges(TransformerCosts& costs, const TransformerSpec& spec, const Sizes& s) {
  const Table table(spec);
  const Wide inner = wide(spec.model.channels * spec.model.patch * spec.model.patch);
  const Wide classes = wide(spec.model.classes);
  const GemmCosts patches =
      table.edge_gemm({"patches", "patches.dx", "patches.dw"}, s.tokens, inner, s.hidden);
  costs.is_vision = true;
  costs.embedding = {patches.forward, patches.weight_gradient};
  costs.head = table.edge_gemm({"head", "head.dx", "head.dw"}, s.micro_batch, s.hidden, classes);
  const Wide logits = s.micro_batch * classes;
  costs.loss_sum = table.row(Op::SOFTMAX, "loss", 4 * logits, logits, logits);
  costs.loss_gradient = table.row(Op::SOFTMAX, "loss.gradient", 2 * logits, logits, logits);
  costs.logits_bytes = to_count(2 * s.element * s.local_tokens * s.hidden);
  costs.embedding_parameters = to_count(inner * s.hidden);
  costs.head_parameters = to_count(s.hidden * classes);
  costs.edge_model_flops = 3 * flops_of(costs.head.forward) + 2 * flops_of(patches.forward);
  costs.final_norm_parameters = to_count(s.hidden);
}

// All layers in one precision.
TransformerCosts uniform_costs(const TransformerSpec& spec, const ExpertRouting& routing,
                               std::uint32_t expert_rank) {
  const Sizes s = sizes_of(spec, tokens_of(spec));
  const Table table(spec);
  TransformerCosts costs;
  costs.norm = norm_of(s, table);
  if (spec.model.family == ModelFamily::kVision) {
    set_vision_edges(costs, spec, s);
  } else {
    set_edge_costs(costs, spec, s);
    set_predictions(costs, spec, s);
  }
  const Wide whole = s.element * s.tokens * s.hidden;
  costs.whole_bytes = to_count(whole);
  costs.shard_bytes = to_count(whole / s.tensor);
  costs.boundary_bytes = to_count(s.element * s.local_tokens * s.hidden);
  if (spec.model.family != ModelFamily::kEncoderDecoder) {
    add_decoder_kinds(costs, spec, s, routing, expert_rank);
    return costs;
  }
  const Sizes encoder = sizes_of(spec, encoder_tokens_of(spec));
  costs.kinds = {
      layer_of(spec, LayerKind::kWhole, encoder, nullptr, false, 0, std::nullopt),
      layer_of(spec, LayerKind::kWhole, s, &encoder, spec.model.causal, 0, std::nullopt)};
  costs.kind_of_layer.assign(static_cast<std::size_t>(spec.model.encoder_layers), 0);
  costs.kind_of_layer.resize(static_cast<std::size_t>(layers_of(spec.model)), 1);
  costs.decoder_embedding = costs.embedding;
  const Wide read = encoder.tokens * encoder.hidden;
  costs.embedding = {table.row(Op::EMBEDDING, "embedding", 0, read, read),
                     table.row(Op::EMBEDDING, "embedding.backward", read, read, read)};
  costs.encoder_whole_bytes = to_count(encoder.element * read);
  costs.encoder_shard_bytes = to_count(encoder.element * read / encoder.tensor);
  costs.encoder_boundary_bytes = to_count(encoder.element * encoder.local_tokens * encoder.hidden);
  return costs;
}

Wide model_matrices(const ModelSpec& model) {
  TransformerSpec whole;  // on one device
  whole.model = model;
  whole.sequence_length = whole.micro_batch_sequences = 1;
  const ExpertRouting routing = route_experts(whole);
  const TransformerCosts costs = transformer_costs(whole, routing, 0);
  Wide total = 0;
  for (const std::uint8_t kind : costs.kind_of_layer) {
    total += static_cast<Wide>(costs.kinds[kind].parameters) + costs.kinds[kind].expert_parameters;
  }
  total += costs.embedding_parameters;
  if (!model.tied_embeddings) total += costs.head_parameters;
  return total + costs.final_norm_parameters;
}

}  // namespace

TransformerCosts transformer_costs(const TransformerSpec& spec, const ExpertRouting& routing,
                                   std::uint32_t expert_rank) {
  TransformerCosts costs = uniform_costs(spec, routing, expert_rank);
  const auto first_layers = static_cast<std::size_t>(spec.gemm_precision_ends);
  const auto last = static_cast<std::size_t>(spec.gemm_precision_last);
  const std::size_t last_layers = last != 0 ? last : first_layers;
  if (spec.gemm_precision == schema::DataType::NONE || last_layers == 0) return costs;
  TransformerSpec plain = spec;
  plain.gemm_precision = plain.attention_precision = schema::DataType::NONE;
  const TransformerCosts others = uniform_costs(plain, routing, expert_rank);
  const auto first = static_cast<std::uint8_t>(costs.kinds.size());
  costs.kinds.insert(costs.kinds.end(), others.kinds.begin(), others.kinds.end());
  const std::size_t layers = costs.kind_of_layer.size();
  for (std::size_t i = 0; i < layers; ++i) {
    if (i < first_layers || i + last_layers >= layers) {
      costs.kind_of_layer[i] = static_cast<std::uint8_t>(costs.kind_of_layer[i] + first);
    }
  }
  costs.prediction = others.prediction;
  return costs;
}

std::uint64_t parameter_count(const ModelSpec& model) { return to_count(model_matrices(model)); }

}  // namespace exawarp::model
