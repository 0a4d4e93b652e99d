// Attention: projections, and the core as one kernel or as those of plain attention.
#include "model/generate/transformer_attention.h"

namespace exawarp::model {
namespace {

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

void set_flash_core(AttentionCosts& a, const CoreSizes& c, const Table& table, bool causal) {
  const Wide half = causal ? 2 : 1;
  a.core = {table.row(Op::ATTENTION, "attention", 2 * c.seen * (c.q + c.qv) / half, c.q + c.k + c.v,
                      c.qv)};
  a.core_backward = {table.row(Op::ATTENTION, "attention.backward",
                               2 * c.seen * (3 * c.q + 2 * c.qv) / half, c.q + 2 * c.qv + c.k + c.v,
                               c.q + c.k + c.v)};
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
    set_flash_core(a, sizes, table, causal);
  } else {
    set_plain_core(a, spec, sizes, table);
  }
  a.core_model_flops =
      static_cast<double>(to_count(2 * sizes.seen * (sizes.q + sizes.qv) / (causal ? 2 : 1)));
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

}  // namespace

OperationPair norm_of(const Sizes& s, const Table& table) {
  const Wide residual = s.local_tokens * s.hidden;
  return {table.row(Op::NORM, "norm", 5 * residual, residual, residual),
          table.row(Op::NORM, "norm.backward", 5 * residual, 2 * residual, residual)};
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
  a.gather_bytes = to_count(s.element * s.tokens * gathered / s.tensor);
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
  a.memory_bytes = to_count(s.element * memory.tokens * s.hidden / s.tensor);
  return a;
}

}  // namespace exawarp::model
