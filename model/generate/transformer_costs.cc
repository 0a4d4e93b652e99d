// Costs of a transformer's operations; see transformer_costs.h. Sums are taken in 128 bits, in
// which no product of checked sizes overflows, and narrowed once.
#include "model/generate/transformer_costs.h"

#include <algorithm>

#include "model/workload/validate.h"

namespace exawarp::model {
namespace {

__extension__ using Wide = unsigned __int128;
using Op = schema::Operation;

std::uint64_t narrow(Wide value) {
  if (value >= kSizeMax) {
    throw SpecProblem("model", "an operation takes 2^62 FLOPs or bytes, or more; expected less");
  }
  return static_cast<std::uint64_t>(value);
}

Wide wide(std::int64_t value) { return static_cast<Wide>(value); }

constexpr int kFp32Bytes = 4;

// Sizes of one stack of blocks (a T5 has two), on one rank.
struct Sizes {
  Wide tokens, sequence, hidden, ffn, heads, vocabulary, tensor, context, element, ffn_matrices;
  Wide query, key, query_value, value;  // widths of all heads: scores' operands, and values
  Wide local_tokens;                    // T': tokens that a norm sees
  Wide micro_batch;
};

Sizes sizes_of(const TransformerSpec& spec, std::int64_t sequence) {
  const ModelSpec& model = spec.model;
  Sizes s{};
  s.sequence = wide(sequence);
  s.tensor = wide(spec.parallel.tensor);
  s.context = wide(spec.parallel.context);
  s.micro_batch = wide(spec.micro_batch_sequences);
  s.tokens = s.micro_batch * s.sequence / s.context;
  s.hidden = wide(model.hidden);
  s.ffn = wide(model.ffn);
  s.heads = wide(model.heads);
  s.vocabulary = wide(model.vocabulary);
  s.element = wide(bytes_of(spec.precision));
  s.ffn_matrices = model.gated_ffn ? 2 : 1;
  s.local_tokens = spec.parallel.sequence_parallel ? s.tokens / s.tensor : s.tokens;
  if (model.mla.key_value_rank != 0) {
    s.query = s.key = s.heads * wide(model.mla.nope_dim + model.mla.rope_dim);
    s.query_value = s.value = s.heads * wide(model.mla.value_dim);
  } else {
    s.query = s.query_value = s.heads * wide(head_dim_of(model));
    s.key = s.value = wide(kv_heads_of(model)) * wide(head_dim_of(model));
  }
  return s;
}

// Element counts in, bytes out.
class Table {
 public:
  explicit Table(const TransformerSpec& spec)
      : element_(wide(bytes_of(spec.precision))), operand_(element_) {
    if (spec.gemm_precision == schema::DataType::NONE) return;
    operand_type_ = spec.gemm_precision;
    operand_ = wide(bytes_of(operand_type_));
    if (operand_type_ != schema::DataType::FP8 || !spec.kernels.casts) return;
    casts_ = true;
    copies_ = spec.kernels.transposes ? 2 : 1;
  }

  [[nodiscard]] OperationCost row(Op operation, const char* name, Wide flops, Wide read,
                                  Wide written) const {
    return {operation, name, narrow(flops), narrow(read * element_), narrow(written * element_)};
  }
  // Of whole bytes: dropout's masks beside elements.
  [[nodiscard]] OperationCost with_masks(OperationCost cost, Wide read, Wide written) const {
    cost.bytes_read = narrow(cost.bytes_read + read);
    cost.bytes_written = narrow(cost.bytes_written + written);
    return cost;
  }
  // To the operands' precision.
  [[nodiscard]] std::optional<OperationCost> cast(const char* name, Wide elements) const {
    if (!casts_) return {};
    return OperationCost{Op::ELEMENTWISE, name, narrow(elements), narrow(elements * element_),
                         narrow(elements * operand_ * copies_)};
  }

  struct Names {
    const char *forward, *input_gradient, *weight_gradient;
  };
  // (rows x inner) times (inner x columns), of `weights` matrices that share the rows.
  [[nodiscard]] GemmCosts gemm(const Names& names, Wide rows, Wide inner, Wide columns,
                               Wide matrices = 1) const {
    const Wide flops = 2 * rows * inner * columns;
    const Wide in = rows * inner;
    const Wide weights = matrices * inner * columns;
    const Wide out = rows * columns;
    GemmCosts costs{product(names.forward, flops, in + weights, out),
                    product(names.input_gradient, flops, out + weights, in),
                    product(names.weight_gradient, flops, in + out, weights), cast("cast", in),
                    cast("cast.backward", out)};
    if (rows == 0) return costs;
    costs.forward.shape = gemm_shape(rows, columns, inner);
    costs.input_gradient.shape = gemm_shape(rows, inner, columns);
    costs.weight_gradient.shape = gemm_shape(inner, columns, rows);
    return costs;
  }
  // The same, whatever the precision of the products of layers.
  [[nodiscard]] GemmCosts edge_gemm(const Names& names, Wide rows, Wide inner, Wide columns) const {
    Table plain = *this;
    plain.operand_ = element_;
    plain.operand_type_ = schema::DataType::NONE;
    plain.casts_ = false;
    return plain.gemm(names, rows, inner, columns);
  }

 private:
  [[nodiscard]] OperationCost product(const char* name, Wide flops, Wide read, Wide written) const {
    return {Op::GEMM,     name, narrow(flops), narrow(read * operand_), narrow(written * element_),
            operand_type_};
  }
  static Shape gemm_shape(Wide m, Wide n, Wide k) {
    return GemmShape{.m = narrow(m), .n = narrow(n), .k = narrow(k)};
  }
  Wide element_, operand_;
  schema::DataType operand_type_ = schema::DataType::NONE;
  bool casts_ = false;
  Wide copies_ = 1;
};

OperationPair norm_of(const Sizes& s, const Table& table) {
  const Wide residual = s.local_tokens * s.hidden;
  return {table.row(Op::NORM, "norm", 5 * residual, residual, residual),
          table.row(Op::NORM, "norm.backward", 5 * residual, 2 * residual, residual)};
}

// A rank's share of the core, as one kernel does it. Ulysses: all tokens for fewer heads. Otherwise
// a rank has tokens from all over the sequence, so that they see as much as those of other ranks:
// half the sequence on average where attention is causal.
Shape core_shape(const TransformerSpec& spec, const Sizes& s, const Sizes& memory, bool causal) {
  const bool whole = spec.parallel.context_method == ContextMethod::kUlysses;
  const Wide heads = s.heads / s.tensor / (whole ? s.context : 1);
  const Wide tokens = whole ? s.sequence : s.sequence / s.context;
  if (heads == 0 || tokens == 0 || memory.sequence < tokens) return {};
  const Wide key_width = s.query / s.heads;
  const Wide key_heads = s.key / key_width / s.tensor / (whole ? s.context : 1);
  const Wide past = (memory.sequence - tokens) / (causal ? 2 : 1);
  return AttentionShape{.batch = narrow(s.micro_batch),
                        .new_tokens = narrow(tokens),
                        .past_tokens = narrow(past),
                        .heads = narrow(heads),
                        .key_value_heads = narrow(std::max<Wide>(key_heads, 1)),
                        .head_dim = narrow(key_width),
                        .value_dim = narrow(s.query_value / s.heads),
                        .causal = causal};
}

OperationCost with_shape(OperationCost cost, Shape shape, bool backward) {
  if (auto* attention = std::get_if<AttentionShape>(&shape)) attention->backward = backward;
  cost.shape = shape;
  return cost;
}

// Of q's tokens to the keys and values of a memory, which is q's own stack but in
// cross-attention. They are those of the whole sequence; Ulysses sees all of it for fewer heads.
// Elements, on one rank.
struct CoreSizes {
  Wide q, qv, k, v;  // queries, what comes out, keys, values
  Wide seen;         // tokens of the memory
  Wide scores;
};

CoreSizes core_sizes(const TransformerSpec& spec, const Sizes& s, const Sizes& memory) {
  const Wide parts = spec.parallel.context_method == ContextMethod::kUlysses ? 1 : memory.context;
  return {.q = s.tokens * s.query / s.tensor,
          .qv = s.tokens * s.query_value / s.tensor,
          .k = memory.tokens * parts * s.key / s.tensor,
          .v = memory.tokens * parts * s.value / s.tensor,
          .seen = memory.sequence,
          .scores = s.tokens * memory.sequence * s.heads / s.tensor};
}

void set_flash_core(AttentionCosts& a, const CoreSizes& c, const Table& table, bool causal,
                    const Shape& shape) {
  const Wide half = causal ? 2 : 1;
  a.core = {with_shape(table.row(Op::ATTENTION, "attention", 2 * c.seen * (c.q + c.qv) / half,
                                 c.q + c.k + c.v, c.qv),
                       shape, false)};
  a.core_backward = {
      with_shape(table.row(Op::ATTENTION, "attention.backward",
                           2 * c.seen * (3 * c.q + 2 * c.qv) / half,
                           c.q + 2 * c.qv + c.k + c.v, c.q + c.k + c.v),
                 shape, true)};
}

// A mask takes no product away, and no score: the kernels are batched products of whole matrices.
void set_plain_core(AttentionCosts& a, const TransformerSpec& spec, const CoreSizes& c,
                    const Table& table) {
  const Wide z = c.scores;
  const Wide q_flops = 2 * c.seen * c.q;
  const Wide v_flops = 2 * c.seen * c.qv;
  const auto pass = [&](const char* name) { return table.row(Op::ELEMENTWISE, name, z, z, z); };
  a.core = {table.row(Op::GEMM, "attention.scores", q_flops, c.q + c.k, z)};
  if (!spec.kernels.fused_softmax) {
    a.core.push_back(pass("attention.scale"));
    a.core.push_back(pass("attention.mask"));
  }
  a.core.push_back(table.row(Op::SOFTMAX, "attention.softmax", 5 * z, z, z));
  if (spec.dropout) a.core.push_back(table.with_masks(pass("attention.dropout"), 0, z));
  a.core.push_back(table.row(Op::GEMM, "attention.values", v_flops, z + c.v, c.qv));

  a.core_backward = {table.row(Op::GEMM, "attention.values.dv", v_flops, z + c.qv, c.v),
                     table.row(Op::GEMM, "attention.values.dp", v_flops, c.qv + c.v, z)};
  if (spec.dropout) {
    a.core_backward.push_back(table.with_masks(pass("attention.dropout.backward"), z, 0));
  }
  a.core_backward.push_back(table.row(Op::SOFTMAX, "attention.softmax.backward", 4 * z, 2 * z, z));
  if (!spec.kernels.fused_softmax) {
    a.core_backward.push_back(pass("attention.mask.backward"));
    a.core_backward.push_back(pass("attention.scale.backward"));
  }
  a.core_backward.push_back(table.row(Op::GEMM, "attention.scores.dq", q_flops, z + c.k, c.q));
  a.core_backward.push_back(table.row(Op::GEMM, "attention.scores.dk", q_flops, z + c.q, c.k));
}

void set_core(AttentionCosts& a, const TransformerSpec& spec, const Sizes& s, const Sizes& memory,
              bool causal) {
  const Table table(spec);
  const CoreSizes sizes = core_sizes(spec, s, memory);
  if (spec.flash_attention) {
    set_flash_core(a, sizes, table, causal, core_shape(spec, s, memory, causal));
  } else {
    set_plain_core(a, spec, sizes, table);
  }
  a.core_model_flops =
      static_cast<double>(narrow(2 * sizes.seen * (sizes.q + sizes.qv) / (causal ? 2 : 1)));
}

GemmCosts projection_of(const Sizes& s, const Table& table) {
  return table.gemm({"projection", "projection.dx", "projection.dw"}, s.tokens,
                    s.query_value / s.tensor, s.hidden);
}

void set_common(AttentionCosts& a, const Sizes& s, const Sizes& memory, const Table& table) {
  a.norm = norm_of(s, table);
  a.projection = projection_of(s, table);
  a.gather_bytes = narrow(s.element * s.tokens * s.hidden / s.tensor);
  a.key_value_bytes = narrow(s.element * memory.tokens * s.key / s.tensor);
  a.heads_bytes = narrow(s.element * s.tokens * (s.query + s.key + s.value) / s.tensor);
  a.output_bytes = narrow(s.element * s.tokens * s.query_value / s.tensor);
}

AttentionCosts self_attention(const TransformerSpec& spec, const Sizes& s, const Table& table,
                              bool causal) {
  AttentionCosts a;
  set_common(a, s, s, table);
  set_core(a, spec, s, s, causal);
  const MlaSpec& mla = spec.model.mla;
  if (mla.key_value_rank == 0) {
    const Wide turned = s.tokens * (s.query + s.key) / s.tensor;
    a.rotary = {table.row(Op::ELEMENTWISE, "rotary", 0, turned, turned),
                table.row(Op::ELEMENTWISE, "rotary.backward", 0, turned, turned)};
    a.in = {table.gemm({"qkv", "qkv.dx", "qkv.dw"}, s.tokens, s.hidden,
                       (s.query + s.key + s.value) / s.tensor)};
    return a;
  }
  const Wide turned = s.tokens * (s.heads * wide(mla.rope_dim) / s.tensor + wide(mla.rope_dim));
  a.rotary = {table.row(Op::ELEMENTWISE, "rotary", 0, turned, turned),
              table.row(Op::ELEMENTWISE, "rotary.backward", 0, turned, turned)};
  const Wide latent = wide(mla.query_rank + mla.key_value_rank + mla.rope_dim);
  a.down = table.gemm({"latent", "latent.dx", "latent.dw"}, s.local_tokens, s.hidden, latent);
  const bool has_query_latent = mla.query_rank != 0;
  a.in = {table.gemm({"q", "q.dx", "q.dw"}, s.tokens,
                     has_query_latent ? wide(mla.query_rank) : s.hidden, s.query / s.tensor),
          table.gemm({"kv", "kv.dx", "kv.dw"}, s.tokens, wide(mla.key_value_rank),
                     (s.heads * wide(mla.nope_dim) + s.value) / s.tensor)};
  const Wide gathered = latent + (has_query_latent ? 0 : s.hidden);
  a.gather_bytes = narrow(s.element * s.tokens * gathered / s.tensor);
  return a;
}

AttentionCosts cross_attention(const TransformerSpec& spec, const Sizes& s, const Sizes& memory,
                               const Table& table) {
  AttentionCosts a;
  a.is_cross = true;
  set_common(a, s, memory, table);
  set_core(a, spec, s, memory, false);
  a.in = {
      table.gemm({"cross.q", "cross.q.dx", "cross.q.dw"}, s.tokens, s.hidden, s.query / s.tensor),
      table.gemm({"cross.kv", "cross.kv.dx", "cross.kv.dw"}, memory.tokens, s.hidden,
                 (s.key + s.value) / s.tensor)};
  a.memory_bytes = narrow(s.element * memory.tokens * s.hidden / s.tensor);
  return a;
}

struct FfnNames {
  Table::Names in, out;
  const char *activation, *activation_backward;
};
constexpr FfnNames kDense{{"ffn_in", "ffn_in.dx", "ffn_in.dw"},
                          {"ffn_out", "ffn_out.dx", "ffn_out.dw"},
                          "activation",
                          "activation.backward"};
constexpr FfnNames kShared{{"shared_in", "shared_in.dx", "shared_in.dw"},
                           {"shared_out", "shared_out.dx", "shared_out.dw"},
                           "shared.activation",
                           "shared.activation.backward"};
constexpr FfnNames kExperts{{"expert_in", "expert_in.dx", "expert_in.dw"},
                            {"expert_out", "expert_out.dx", "expert_out.dw"},
                            "expert.activation",
                            "expert.activation.backward"};

struct FfnShape {
  Wide rows, hidden, ffn, in_matrices, matrices;
  bool fused = true;  // its activation
};

// What a fused activation keeps on chip: the gate's product, or the sum with the bias. Its backward
// pass: the gate's two gradients, or the bias's one.
std::optional<OperationPair> activation_parts_of(const FfnShape& f, const Table& table) {
  if (f.fused) return {};
  const Wide inner = f.rows * f.ffn;
  const bool gated = f.in_matrices == 2;
  return OperationPair{table.row(Op::ELEMENTWISE, "activation.parts", inner, inner, inner),
                       table.row(Op::ELEMENTWISE, "activation.parts.backward", inner,
                                 (gated ? 2 : 1) * inner, (gated ? 1 : 0) * inner)};
}

FfnCosts ffn_of(const FfnNames& names, const FfnShape& f, const Table& table) {
  const Wide inner = f.rows * f.ffn;
  const Wide g = f.in_matrices;
  return {table.gemm(names.in, f.rows, f.hidden, g * f.ffn, f.matrices),
          {table.row(Op::ELEMENTWISE, names.activation, 5 * inner, g * inner, inner),
           table.row(Op::ELEMENTWISE, names.activation_backward, 5 * inner, (g + 1) * inner,
                     g * inner)},
          activation_parts_of(f, table),
          table.gemm(names.out, f.rows, f.ffn, f.hidden, f.matrices)};
}

// The layer of which `rows` are this rank's share, were its experts equally busy.
void set_expert_shapes(FfnCosts& ffn, const TransformerSpec& spec, Wide rows) {
  if (rows == 0) return;
  const MoeSpec& moe = spec.model.moe;
  const Wide tokens = rows * wide(spec.parallel.expert) / wide(moe.top_k);
  const ExpertShape shape{.tokens = narrow(std::max<Wide>(tokens, 1)),
                          .hidden = narrow(wide(spec.model.hidden)),
                          .inner = narrow(wide(moe.ffn)),
                          .top_k = narrow(wide(moe.top_k)),
                          .experts = narrow(wide(moe.experts)),
                          .tensor = narrow(wide(expert_tensor_of(spec.parallel))),
                          .expert = narrow(wide(spec.parallel.expert)),
                          .gated = spec.model.gated_ffn};
  for (GemmCosts* gemm : {&ffn.in, &ffn.out}) {
    gemm->forward.shape = gemm->input_gradient.shape = gemm->weight_gradient.shape = shape;
  }
}

ExpertCosts experts_of(const TransformerSpec& spec, const Sizes& s, const Table& table,
                       const ExpertRouting& routing, std::uint32_t rank, std::uint32_t pattern) {
  const MoeSpec& moe = spec.model.moe;
  const Wide sent = routing.slots_sent;
  const Wide split = wide(expert_tensor_of(spec.parallel));
  const Wide received = routing.slots_of(pattern, rank);
  const Wide scored = s.local_tokens * wide(moe.experts);
  const Wide out = s.local_tokens * s.hidden;
  ExpertCosts e;
  e.pattern = pattern;
  e.router = table.edge_gemm({"router", "router.dx", "router.dw"}, s.local_tokens, s.hidden,
                             wide(moe.experts));
  e.top_k = {table.row(Op::SOFTMAX, "router.top_k", 5 * scored, scored, scored),
             table.row(Op::SOFTMAX, "router.top_k.backward", 5 * scored, scored, scored)};
  e.permute = {
      table.row(Op::ELEMENTWISE, "permute", 0, out, sent * s.hidden),
      table.row(Op::ELEMENTWISE, "permute.backward", sent * s.hidden, sent * s.hidden, out)};
  e.unpermute = {
      table.row(Op::ELEMENTWISE, "unpermute", 2 * sent * s.hidden, sent * s.hidden, out),
      table.row(Op::ELEMENTWISE, "unpermute.backward", 2 * sent * s.hidden, out, sent * s.hidden)};
  e.experts = ffn_of(kExperts,
                     {.rows = split * received,
                      .hidden = s.hidden,
                      .ffn = wide(moe.ffn) / split,
                      .in_matrices = s.ffn_matrices,
                      .matrices = wide(moe.experts / spec.parallel.expert),
                      .fused = spec.kernels.fused_activation},
                     table);
  set_expert_shapes(e.experts, spec, split * received);
  e.dispatch_bytes = narrow(s.element * sent * s.hidden);
  e.tensor_shard_bytes = narrow(s.element * received * s.hidden);
  e.tensor_whole_bytes = narrow(s.element * split * received * s.hidden);
  return e;
}

// What a backward pass needs of a forward pass, what can be had again from it for nothing apart.
// With sequence parallelism inputs of products are kept as shards.
void set_saved(LayerCosts& layer, const TransformerSpec& spec, const Sizes& s,
               const Sizes& memory) {
  const Wide residual = s.local_tokens * s.hidden;
  Wide rest = 0;
  Wide scores = 0;
  for (const AttentionCosts& a : layer.attention) {
    const Sizes& seen = a.is_cross ? memory : s;
    if (&a != &layer.attention.front()) rest += residual;  // this block's input
    rest += residual;                                      // the norm's output
    if (a.down) {
      rest += s.local_tokens * wide(spec.model.mla.query_rank + spec.model.mla.key_value_rank +
                                    spec.model.mla.rope_dim);
    }
    const Wide copies =  // keys and values stay gathered
        spec.parallel.context_method == ContextMethod::kAllGather ? s.context : 1;
    rest += s.tokens * (s.query + s.query_value) / s.tensor +
            copies * seen.tokens * (s.key + s.value) / s.tensor;
    if (!spec.flash_attention) scores += s.tokens * seen.sequence * s.heads / s.tensor;
  }
  rest += 2 * residual;  // the feed-forward block's input, and its norm's output
  const Wide g = s.ffn_matrices;
  if (layer.ffn) {
    const Wide width = layer.moe ? wide(spec.model.moe.shared_ffn) : s.ffn;
    rest += (g + 1) * s.tokens * width / s.tensor;
  }
  if (layer.moe) {
    const Wide split = wide(expert_tensor_of(spec.parallel));
    const Wide slots = layer.moe->tensor_whole_bytes / s.element / s.hidden;
    rest += slots * (2 * s.hidden + (g + 1) * wide(spec.model.moe.ffn) / split);
    rest += s.local_tokens * wide(spec.model.moe.experts);
  }
  // Dropout: its masks, of a byte, after each block and of the scores; and of these what it leaves.
  const Wide blocks = wide(static_cast<std::int64_t>(layer.attention.size())) + 1;
  const Wide masks = spec.dropout ? blocks * residual : 0;
  const Wide dropped = spec.dropout ? (s.element + 1) * scores : 0;
  layer.saved = {.input = narrow(s.element * residual),
                 .scores = narrow(s.element * scores + dropped),
                 .rest = narrow(s.element * rest + masks)};
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
  Wide total = s.hidden * (layer.attention.size() + 1);  // norms
  for (const AttentionCosts& a : layer.attention) total += attention_parameters(spec, s, a);
  if (layer.ffn) {
    total += (g + 1) * s.hidden * (layer.moe ? wide(moe.shared_ffn) : s.ffn) / s.tensor;
  }
  if (layer.moe) {
    total += s.hidden * wide(moe.experts);
    layer.expert_parameters = narrow(wide(moe.experts / spec.parallel.expert) * (g + 1) * s.hidden *
                                     wide(moe.ffn) / wide(expert_tensor_of(spec.parallel)));
  }
  layer.parameters = narrow(total);
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
  if (layer.ffn) forward += flops_of(layer.ffn->in.forward) + flops_of(layer.ffn->out.forward);
  if (layer.moe) {
    forward += flops_of(layer.moe->router.forward) + flops_of(layer.moe->experts.in.forward) +
               flops_of(layer.moe->experts.out.forward);
  }
  return 3 * forward;
}

// A block of stack `s`; `memory`: where it looks at an encoder.
LayerCosts layer_of(const TransformerSpec& spec, const Sizes& s, const Sizes* memory, bool causal,
                    std::optional<ExpertCosts> experts) {
  const Table table(spec);
  const Wide residual = s.local_tokens * s.hidden;
  LayerCosts layer;
  layer.attention = {self_attention(spec, s, table, causal)};
  if (memory != nullptr) layer.attention.push_back(cross_attention(spec, s, *memory, table));
  layer.norm = norm_of(s, table);
  layer.residual = {
      table.row(Op::ELEMENTWISE, "residual", residual, 2 * residual, residual),
      table.row(Op::ELEMENTWISE, "residual.backward", residual, 2 * residual, residual)};
  const Wide dense = experts ? wide(spec.model.moe.shared_ffn) : s.ffn;
  if (dense != 0) {
    layer.ffn = ffn_of(experts ? kShared : kDense,
                       {.rows = s.tokens,
                        .hidden = s.hidden,
                        .ffn = dense / s.tensor,
                        .in_matrices = s.ffn_matrices,
                        .matrices = 1,
                        .fused = spec.kernels.fused_activation},
                       table);
  }
  layer.moe = std::move(experts);
  const Wide whole = s.element * s.tokens * s.hidden;
  layer.whole_bytes = narrow(whole);
  layer.shard_bytes = narrow(whole / s.tensor);
  set_saved(layer, spec, s, memory != nullptr ? *memory : s);
  set_parameters(layer, spec, s);
  set_kernels(layer, spec, s, table);
  layer.model_flops = model_flops_of(layer);
  return layer;
}

void add_decoder_kinds(TransformerCosts& costs, const TransformerSpec& spec, const Sizes& s,
                       const ExpertRouting& routing, std::uint32_t expert_rank) {
  const ModelSpec& model = spec.model;
  const Table table(spec);
  const bool causal = model.family != ModelFamily::kVision && model.causal;
  costs.kinds.push_back(layer_of(spec, s, nullptr, causal, std::nullopt));
  for (std::uint32_t p = 0; p < routing.slots.size(); ++p) {
    costs.kinds.push_back(
        layer_of(spec, s, nullptr, causal, experts_of(spec, s, table, routing, expert_rank, p)));
  }
  std::size_t with_experts = 0;
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const bool has = has_experts(model, i);
    costs.kind_of_layer.push_back(
        has ? static_cast<std::uint8_t>(1 + with_experts++ % routing.slots.size())
            : std::uint8_t{0});
  }
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
  costs.loss_maximum.bytes_written = narrow(kFp32Bytes * s.tokens);  // whatever the precision
  costs.loss_sum = table.row(Op::SOFTMAX, "loss.sum", 3 * logits, logits, 0);
  costs.loss_sum.bytes_written = narrow(2 * kFp32Bytes * s.tokens);
  costs.loss_gradient = table.row(Op::SOFTMAX, "loss.gradient", 2 * logits, logits, logits);
  costs.loss_bytes = narrow(kFp32Bytes * s.tokens);
  costs.logits_bytes = narrow(2 * s.element * s.local_tokens * s.hidden + kFp32Bytes * logits);
  costs.embedding_parameters = narrow(s.vocabulary * s.hidden / s.tensor);
  costs.head_parameters = costs.embedding_parameters;
  costs.edge_model_flops = 3 * flops_of(costs.head.forward);
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
  costs.logits_bytes = narrow(2 * s.element * s.local_tokens * s.hidden);
  costs.embedding_parameters = narrow(inner * s.hidden);
  costs.head_parameters = narrow(s.hidden * classes);
  costs.edge_model_flops = 3 * flops_of(costs.head.forward) + 2 * flops_of(patches.forward);
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
  }
  const Wide whole = s.element * s.tokens * s.hidden;
  costs.whole_bytes = narrow(whole);
  costs.shard_bytes = narrow(whole / s.tensor);
  costs.boundary_bytes = narrow(s.element * s.local_tokens * s.hidden);
  costs.final_norm_parameters = narrow(s.hidden);
  if (spec.model.family != ModelFamily::kEncoderDecoder) {
    add_decoder_kinds(costs, spec, s, routing, expert_rank);
    return costs;
  }
  const Sizes encoder = sizes_of(spec, encoder_tokens_of(spec));
  costs.kinds = {layer_of(spec, encoder, nullptr, false, std::nullopt),
                 layer_of(spec, s, &encoder, spec.model.causal, std::nullopt)};
  costs.kind_of_layer.assign(static_cast<std::size_t>(spec.model.encoder_layers), 0);
  costs.kind_of_layer.resize(static_cast<std::size_t>(layers_of(spec.model)), 1);
  costs.decoder_embedding = costs.embedding;
  const Wide read = encoder.tokens * encoder.hidden;
  costs.embedding = {table.row(Op::EMBEDDING, "embedding", 0, read, read),
                     table.row(Op::EMBEDDING, "embedding.backward", read, read, read)};
  costs.encoder_whole_bytes = narrow(encoder.element * read);
  costs.encoder_shard_bytes = narrow(encoder.element * read / encoder.tensor);
  costs.encoder_boundary_bytes = narrow(encoder.element * encoder.local_tokens * encoder.hidden);
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
  const auto ends = static_cast<std::size_t>(spec.gemm_precision_ends);
  if (spec.gemm_precision == schema::DataType::NONE || ends == 0) return costs;
  TransformerSpec plain = spec;
  plain.gemm_precision = schema::DataType::NONE;
  const TransformerCosts others = uniform_costs(plain, routing, expert_rank);
  const auto first = static_cast<std::uint8_t>(costs.kinds.size());
  costs.kinds.insert(costs.kinds.end(), others.kinds.begin(), others.kinds.end());
  const std::size_t layers = costs.kind_of_layer.size();
  for (std::size_t i = 0; i < layers; ++i) {
    if (i < ends || i + ends >= layers) {
      costs.kind_of_layer[i] = static_cast<std::uint8_t>(costs.kind_of_layer[i] + first);
    }
  }
  return costs;
}

std::uint64_t parameter_count(const ModelSpec& model) { return narrow(model_matrices(model)); }

}  // namespace exawarp::model
