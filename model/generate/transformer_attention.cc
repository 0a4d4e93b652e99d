// Attention: projections, and the core as one kernel or as those of plain attention.
#include "model/generate/transformer_attention.h"

#include <algorithm>

namespace exawarp::model {
namespace {

// A rank's share of the core, as one kernel does it. Ulysses: all tokens for fewer heads. Otherwise
// a rank has tokens from all over the sequence, so that they see as much as those of other ranks:
// half the sequence on average where attention is causal. Through a window they see what is near
// them, wherever they are.
Shape core_shape(const TransformerSpec& spec, const Sizes& s, const Sizes& memory, bool causal,
                 Wide window) {
  const bool whole = spec.parallel.context_method == ContextMethod::kUlysses;
  const Wide heads = s.heads / s.tensor / (whole ? s.context : 1);
  const Wide tokens = whole ? s.sequence : s.sequence / s.context;
  if (heads == 0 || tokens == 0 || memory.sequence < tokens) return {};
  const Wide key_width = s.query / s.heads;
  const Wide key_heads = s.key / key_width / s.tensor / (whole ? s.context : 1);
  const Wide past = window != 0 ? 0 : (memory.sequence - tokens) / (causal ? 2 : 1);
  return AttentionShape{.batch = to_count(s.micro_batch),
                        .new_tokens = to_count(tokens),
                        .past_tokens = to_count(past),
                        .heads = to_count(heads),
                        .key_value_heads = to_count(std::max<Wide>(key_heads, 1)),
                        .head_dim = to_count(key_width),
                        .value_dim = to_count(s.query_value / s.heads),
                        .window = to_count(window),
                        .causal = causal};
}

// The products of plain attention: a batch of as many as there are heads in all sequences.
struct CoreProducts {
  Shape scores, values;        // forward
  Shape scores_dq, scores_dk;  // of queries, of keys
  Shape values_dp, values_dv;  // of what the softmax gave, of values
};

CoreProducts products_of(const Shape& core, std::uint64_t seen) {
  const auto* c = std::get_if<AttentionShape>(&core);
  if (c == nullptr) return {};
  const std::uint64_t batch = c->batch * c->heads;
  const auto product = [batch](std::uint64_t m, std::uint64_t n, std::uint64_t k) {
    return GemmShape{.m = m, .n = n, .k = k, .batch = batch};
  };
  const std::uint64_t rows = c->new_tokens;
  return {.scores = product(rows, seen, c->head_dim),
          .values = product(rows, c->value_dim, seen),
          .scores_dq = product(rows, c->head_dim, seen),
          .scores_dk = product(seen, c->head_dim, rows),
          .values_dp = product(rows, seen, c->value_dim),
          .values_dv = product(seen, c->value_dim, rows)};
}

// Of q's tokens to the keys and values of a memory, which is q's own stack but in
// cross-attention. They are those of the whole sequence; Ulysses sees all of it for fewer heads.
// Elements, on one rank.
struct CoreSizes {
  Wide q, qv, k, v;  // queries, what comes out, keys, values
  Wide seen;         // tokens of the memory
  Wide attended;     // by a query on average, twice as many
  Wide scores;
};

// Twice the tokens that a query sees on average: through a window of w all but the first w queries
// see w.
Wide attended_of(const Sizes& memory, bool causal, Wide window) {
  if (window == 0) return causal ? memory.sequence : 2 * memory.sequence;
  return window * (2 * memory.sequence - window) / memory.sequence;
}

CoreSizes core_sizes(const TransformerSpec& spec, const Sizes& s, const Sizes& memory, bool causal,
                     Wide window) {
  const Wide parts = spec.parallel.context_method == ContextMethod::kUlysses ? 1 : memory.context;
  return {.q = s.tokens * s.query / s.tensor,
          .qv = s.tokens * s.query_value / s.tensor,
          .k = memory.tokens * parts * s.key / s.tensor,
          .v = memory.tokens * parts * s.value / s.tensor,
          .seen = memory.sequence,
          .attended = attended_of(memory, causal, window),
          .scores = s.tokens * memory.sequence * s.heads / s.tensor};
}

// In another type than what is around it, whose operands kernels of their own convert: queries,
// keys and values, and the gradient of what comes out.
void convert_flash_core(AttentionCosts& a, const CoreSizes& c, const Table& table,
                        schema::DataType type) {
  a.core[0].data_type = a.core_backward[0].data_type = type;
  if (const auto cast = table.cast("attention.cast", c.q + c.k + c.v)) {
    a.core.insert(a.core.begin(), *cast);
  }
  if (const auto cast = table.cast("attention.cast.backward", c.qv)) {
    a.core_backward.insert(a.core_backward.begin(), *cast);
  }
}

void set_flash_core(AttentionCosts& a, const CoreSizes& c, const Table& table,
                    const Shape& shape) {
  a.core = {
      table.row(Op::ATTENTION, "attention", c.attended * (c.q + c.qv), c.q + c.k + c.v, c.qv)};
  a.core_backward = {table.row(Op::ATTENTION, "attention.backward",
                               c.attended * (3 * c.q + 2 * c.qv), c.q + 2 * c.qv + c.k + c.v,
                               c.q + c.k + c.v)};
  a.core[0].shape = a.core_backward[0].shape = shape;
  auto* backward = std::get_if<AttentionShape>(&a.core_backward[0].shape);
  if (backward != nullptr) backward->backward = true;
}

// A mask takes no product away, and no score: the kernels are batched products of whole matrices.
void set_plain_core(AttentionCosts& a, const TransformerSpec& spec, const CoreSizes& c,
                    const Table& table, const CoreProducts& shapes) {
  const Wide z = c.scores;
  const Wide q_flops = 2 * c.seen * c.q;
  const Wide v_flops = 2 * c.seen * c.qv;
  const auto pass = [&](const char* name) { return table.row(Op::ELEMENTWISE, name, z, z, z); };
  const auto product = [&](const char* name, Wide flops, Wide read, Wide written,
                           const Shape& shape) {
    OperationCost cost = table.row(Op::GEMM, name, flops, read, written);
    cost.shape = shape;
    return cost;
  };
  a.core = {product("attention.scores", q_flops, c.q + c.k, z, shapes.scores)};
  if (!spec.kernels.fused_softmax) {
    a.core.push_back(pass("attention.scale"));
    a.core.push_back(pass("attention.mask"));
  }
  a.core.push_back(table.row(Op::SOFTMAX, "attention.softmax", 5 * z, z, z));
  if (spec.dropout) a.core.push_back(table.with_masks(pass("attention.dropout"), 0, z));
  a.core.push_back(product("attention.values", v_flops, z + c.v, c.qv, shapes.values));

  a.core_backward = {product("attention.values.dv", v_flops, z + c.qv, c.v, shapes.values_dv),
                     product("attention.values.dp", v_flops, c.qv + c.v, z, shapes.values_dp)};
  if (spec.dropout) {
    a.core_backward.push_back(table.with_masks(pass("attention.dropout.backward"), z, 0));
  }
  a.core_backward.push_back(table.row(Op::SOFTMAX, "attention.softmax.backward", 4 * z, 2 * z, z));
  if (!spec.kernels.fused_softmax) {
    a.core_backward.push_back(pass("attention.mask.backward"));
    a.core_backward.push_back(pass("attention.scale.backward"));
  }
  a.core_backward.push_back(
      product("attention.scores.dq", q_flops, z + c.k, c.q, shapes.scores_dq));
  a.core_backward.push_back(
      product("attention.scores.dk", q_flops, z + c.q, c.k, shapes.scores_dk));
}

void set_core(AttentionCosts& a, const TransformerSpec& spec, const Sizes& s, const Sizes& memory,
              bool causal, Wide window) {
  const Table table(spec);
  const CoreSizes sizes = core_sizes(spec, s, memory, causal, window);
  const Shape shape = core_shape(spec, s, memory, causal, window);
  if (spec.flash_attention) {
    set_flash_core(a, sizes, table, shape);
    const schema::DataType type = attention_precision_of(spec);
    if (type != spec.precision) convert_flash_core(a, sizes, table, type);
  } else {
    set_plain_core(a, spec, sizes, table, products_of(shape, to_count(sizes.seen)));
  }
  a.core_model_flops =
      static_cast<double>(to_count(sizes.attended * (sizes.q + sizes.qv)));
}

GemmCosts projection_of(const Sizes& s, const Table& table) {
  return table.gemm({"projection", "projection.dx", "projection.dw"}, s.tokens,
                    s.query_value / s.tensor, s.hidden);
}

void set_common(AttentionCosts& a, const Sizes& s, const Sizes& memory, const Table& table) {
  a.norm = norm_of(s, table);
  a.projection = projection_of(s, table);
  a.gather_bytes = to_count(s.element * s.tokens * s.hidden / s.tensor);
  a.key_value_bytes = to_count(s.element * memory.tokens * s.key / s.tensor);
  a.heads_bytes = to_count(s.element * s.tokens * (s.query + s.key + s.value) / s.tensor);
  a.output_bytes = to_count(s.element * s.tokens * s.query_value / s.tensor);
}

// Backward turns the other way.
OperationPair rotary_of(Wide turned, const Table& table) {
  const Shape shape = Table::stream(schema::StreamKernel::ROTARY, 1, turned);
  return {table.row(Op::ELEMENTWISE, "rotary", 0, turned, turned, shape),
          table.row(Op::ELEMENTWISE, "rotary.backward", 0, turned, turned, shape)};
}

}  // namespace

OperationPair norm_of(const Sizes& s, const Table& table) {
  using Kernel = schema::StreamKernel;
  const Wide residual = s.local_tokens * s.hidden;
  // Models whose activation is gated (Llama's kind) have RMSNorm, others (GPT's) LayerNorm.
  const bool centers = s.ffn_matrices == 1;
  const auto shape = [&](Kernel plain, Kernel centered) {
    return Table::stream(centers ? centered : plain, s.local_tokens, s.hidden);
  };
  return {table.row(Op::NORM, "norm", 5 * residual, residual, residual,
                    shape(Kernel::RMS_NORM, Kernel::LAYER_NORM)),
          table.row(Op::NORM, "norm.backward", 5 * residual, 2 * residual, residual,
                    shape(Kernel::RMS_NORM_BACKWARD, Kernel::LAYER_NORM_BACKWARD))};
}

AttentionCosts self_attention(const TransformerSpec& spec, const Sizes& s, const Table& table,
                              bool causal, Wide window) {
  AttentionCosts a;
  set_common(a, s, s, table);
  set_core(a, spec, s, s, causal, window);
  const MlaSpec& mla = spec.model.mla;
  if (mla.key_value_rank == 0) {
    const Wide turned = s.tokens * (s.query + s.key) / s.tensor;
    a.rotary = rotary_of(turned, table);
    a.in = {table.gemm({"qkv", "qkv.dx", "qkv.dw"}, s.tokens, s.hidden,
                       (s.query + s.key + s.value) / s.tensor)};
    return a;
  }
  const Wide turned = s.tokens * (s.heads * wide(mla.rope_dim) / s.tensor + wide(mla.rope_dim));
  a.rotary = rotary_of(turned, table);
  const Wide latent = wide(mla.query_rank + mla.key_value_rank + mla.rope_dim);
  a.down = table.gemm({"latent", "latent.dx", "latent.dw"}, s.local_tokens, s.hidden, latent);
  const bool has_query_latent = mla.query_rank != 0;
  a.in = {table.gemm({"q", "q.dx", "q.dw"}, s.tokens,
                     has_query_latent ? wide(mla.query_rank) : s.hidden, s.query / s.tensor),
          table.gemm({"kv", "kv.dx", "kv.dw"}, s.tokens, wide(mla.key_value_rank),
                     (s.heads * wide(mla.nope_dim) + s.value) / s.tensor)};
  const Wide gathered = latent + (has_query_latent ? 0 : s.hidden);
  a.gather_bytes = to_count(s.element * s.tokens * gathered / s.tensor);
  return a;
}

AttentionCosts cross_attention(const TransformerSpec& spec, const Sizes& s, const Sizes& memory,
                               const Table& table) {
  AttentionCosts a;
  a.is_cross = true;
  set_common(a, s, memory, table);
  set_core(a, spec, s, memory, false, 0);
  a.in = {
      table.gemm({"cross.q", "cross.q.dx", "cross.q.dw"}, s.tokens, s.hidden, s.query / s.tensor),
      table.gemm({"cross.kv", "cross.kv.dx", "cross.kv.dw"}, memory.tokens, s.hidden,
                 (s.key + s.value) / s.tensor)};
  a.memory_bytes = to_count(s.element * memory.tokens * s.hidden / s.tensor);
  return a;
}

}  // namespace exawarp::model
