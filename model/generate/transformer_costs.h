// What each operation of a transformer costs on one rank: floating-point operations, bytes of
// memory traffic, bytes sent. All for one micro-batch; formulas as in docs/guide/training.md.
//
// Symbols: S = sequence length, c = context-parallel size, T = micro-batch sequences * S/c (a
// rank's tokens), H = hidden, F = ffn, q = heads * head dim (H unless a head dim is given), k = kv
// heads * head dim, V = vocabulary, t = tensor-parallel size, e = bytes an element, g = 2 with a
// gated ffn, else 1. With sequence parallelism (SP) norms and residuals see T/t tokens, else T;
// below: T'.
//
// operation            FLOPs                           bytes read              bytes written
// norm                 5 T' H                          e T' H                  e T' H
//   backward           5 T' H                          2 e T' H                e T' H
// GEMM (M, K, N)       2 M K N                         e (M K + K N)           e M N
//   dX, dW             2 M K N each                    their two operands      their result
// rotary, split        0 (a few an element)            e T (q + k)/t           as read
// attention (flash)    4 T S q/t, half if causal       e T (q + 2kc)/t         e T q/t
//   backward           10 T S q/t, half if causal      e T (3q + 2kc)/t        e T (q + 2kc)/t
//   window of w < S    w - w^2/(2S) tokens in place of the S/2 that a causal query sees
// residual             T' H                            2 e T' H                e T' H
// activation           5 T F/t                         g e T F/t               e T F/t
//   backward           5 T F/t                         (g + 1) e T F/t         g e T F/t
// embedding            0 (backward T H: scatter-add)   e T H                   e T H
// loss maximum         T V/t                           e T V/t                 4 T
// loss sum             3 T V/t                         e T V/t                 8 T
// loss gradient        2 T V/t                         e T V/t                 e T V/t
//
// Attention that is not flash, with Z = T S heads/t scores, whole if causal, too; d is 1 with
// dropout, else 0, and its masks take a byte an element:
// attention.scores     2 T S q/t                       e (T q/t + T k c/t)     e Z
// attention.softmax    5 Z                             e Z                     e Z
//   not fused          scale, mask, softmax: each reads and writes e Z
// attention.dropout    d Z                             e Z                     (e + 1) Z
// attention.values     2 T S q/t                       e (Z + T k c/t)         e T q/t
//   backward: attention.values.dv and .dp, attention.dropout.backward (d), attention.softmax
//   .backward (reads 2 e Z, writes e Z), attention.scores.dq and .dk: products as above
//
// Kernels beside them (KernelSpec), n elements of what they work on:
// residual with dropout: fused d T' H bytes more written; else dropout: e n read, (e + 1) n written
//   backward           n                               (e + 1) n               e n
// activation.parts     0                               e T F/t                 e T F/t
//   backward           0                               e T F/t, gated twice    gated: e T F/t
// cast, of a product's input; of the gradient of its output; of its weights, once a step:
//                      n                               e n                     n; transposed: 2 n
// transpose, of what a norm wrote in fp8: 0            n                       n
//
// Experts (E of them, K a token, x ranks share them, each split t_e ways; width F'):
// router               2 T' H E                        GEMM                    GEMM
// router.top_k         5 T' E                          e T' E                  e T' E
// permute, unpermute   0, 2 T' K H                     e T' H, e T' K H        the other
// all-to-all           e' T' K H to the experts (e': of routing.dispatch_precision), e T' K H back;
//                      with routing.node_devices K is the ranks, and between nodes the nodes, that
//                      a token's experts are in (TokenReach)
// expert products      as GEMMs of all slots of a rank, T' K t_e if experts are equally busy, with
//                      the weights of its E/x experts
// blocks.sum           T H                             2 e T H                 e T H
//   of what parallel blocks' last products wrote, before it is reduced over the tensor group;
//   backward: of the gradients of what their first products read, where that is the same
//
// With biases (experts' second products; the first ones' are in their epilogues), weighted by the
// tokens' probabilities in fp32 (Megatron-Core, TEGroupedMLP._apply_bias), of n = slots H elements:
// expert.bias          4 n                             14 n bytes              14 n bytes
//   the bias times the probability, the sum, all experts' in one, and to bf16
//   backward           4 n                             24 n bytes              16 n bytes
//   to fp32, back to bf16, all experts' in one, and of bias and probability products and their sums
// and with clamps (fused_bias_geglu.py), of n = slots F'/t_e:
// expert.clamp         2 n                             4 e n                   4 e n
//   each half apart, and both in one; backward: of each half, and both in one
//   backward           2 n                             6 e n                   4 e n
//
// MLA: latents of widths r_q and r_k + rope, whole on each rank of the tensor group, from T'
// tokens; products from them to the heads' queries (nope + rope), keys and values; in the attention
// core the scores take q = heads (nope + rope), the values heads * value dim.
//
// State-space layers: transformer_mamba.h. Experts on a latent width have it in place of H, and
// beside them
// latent_in            GEMM (T', H, latent)            before tokens go to experts
// latent_out           GEMM (T', latent, H)            after they came back
//
// Products read operands in the GEMM precision and write in the precision of activations.
// Flash attention reads and writes no scores, and computes them again in backward: 10, not 8.
// The model's own arithmetic (WorkloadGraph training totals) counts 8, and half if causal, whatever
// the kernels do.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/generate/expert_routing.h"
#include "model/generate/transformer_spec.h"
#include "model/workload/shape.h"

namespace exawarp::model {

struct OperationCost {
  schema::Operation operation = schema::Operation::OTHER;
  const char* name = "";
  std::uint64_t flops = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  schema::DataType data_type = schema::DataType::NONE;  // NONE: that of the nodes around it
  Shape shape = {};                                     // of matrix products and attention
  std::uint32_t launches = 1;                           // kernels that the host launches for it
};

// A matrix product of the forward pass and the two of its backward pass.
struct GemmCosts {
  OperationCost forward, input_gradient, weight_gradient;
  // fp8, where kernels of their own convert its operands: its input, and its output's gradient.
  std::optional<OperationCost> cast = {}, gradient_cast = {};
};

struct OperationPair {
  OperationCost forward, backward;
};

struct AttentionCosts {
  OperationPair norm;
  std::optional<GemmCosts> down;  // MLA: to the latents, on T' tokens
  std::vector<GemmCosts> in;  // column-parallel: qkv; MLA: from each latent; cross-attention: q,
                              // then keys and values of what the encoder said
  OperationPair rotary;
  std::vector<OperationCost> core, core_backward;  // flash: one kernel, after what converts its
                                                   // operands; else one after the other
  double core_model_flops = 0;                     // of the forward pass
  GemmCosts projection;                            // row-parallel
  bool is_cross = false;
  std::uint64_t gather_bytes = 0;     // a rank's shard of what `in` reads
  std::uint64_t memory_bytes = 0;     // cross-attention: of the encoder's output
  std::uint64_t key_value_bytes = 0;  // keys, or values, of a rank's tokens
  std::uint64_t heads_bytes = 0;      // queries, keys and values of a rank's tokens
  std::uint64_t output_bytes = 0;     // of the core
};

// A state-space block; transformer_mamba.h.
struct MambaCosts {
  OperationPair norm;
  GemmCosts in;  // column-parallel: gate, what the convolution sees, time steps
  OperationPair convolution;
  std::vector<OperationCost> scan, scan_backward;  // one after the other
  OperationPair gated_norm;
  GemmCosts out;                    // row-parallel
  double scan_model_flops = 0;      // of the forward pass
  std::uint64_t in_bytes = 0;       // of what `in` writes: all-to-all over the context group
  std::uint64_t scanned_bytes = 0;  // of what the scan writes: and back
};

// A feed-forward block, or all shared experts.
struct FfnCosts {
  GemmCosts in;  // up, and gate where there is one
  OperationPair activation;
  std::optional<OperationPair> activation_parts = {};  // before it, where it is not fused
  GemmCosts out;
};

struct ExpertCosts {
  GemmCosts router;
  std::optional<GemmCosts> narrow = {}, widen = {};  // to a latent width, and from it
  OperationPair top_k, permute, unpermute;
  std::optional<OperationPair> sort = {};  // of what came, by expert; and back
  std::optional<OperationPair> bias = {};  // of their second products, where it is not fused
  FfnCosts experts;                        // those of this rank
  // All-to-all input with equal shares, to the experts and back from them; with
  // routing.node_devices that of the ranks of a node, and beside it that between nodes.
  std::uint64_t dispatch_bytes = 0, combine_bytes = 0;
  std::uint64_t node_dispatch_bytes = 0, node_combine_bytes = 0;
  std::uint64_t tensor_shard_bytes = 0;  // a rank's slots, before they are gathered over t_e ranks
  std::uint64_t tensor_whole_bytes = 0;  // and all of them
  std::uint32_t pattern = 0;             // of the routing
};

// Bytes that a micro-batch leaves behind for a layer's backward pass, on a rank.
struct SavedBytes {
  std::uint64_t input = 0;   // of the layer
  std::uint64_t scores = 0;  // of attention that is not flash
  std::uint64_t rest = 0;
  // Of `rest`: what Recompute::kLatent, and what Recompute::kExperts, has again.
  std::uint64_t again = 0, experts = 0;
  [[nodiscard]] std::uint64_t all() const { return input + scores + rest; }
};

// One kind of layer.
struct LayerCosts {
  std::vector<AttentionCosts> attention;  // to itself, then to the encoder; of hybrids, or none
  std::optional<MambaCosts> mamba;        // of hybrids
  OperationPair norm, residual;           // of the block of `ffn` or `moe`; and of each block
  std::optional<OperationPair> sum;       // of parallel blocks
  std::optional<OperationCost> dropout;   // of a block's output, where the sum does not do it
  std::optional<OperationCost> dropout_backward;
  std::optional<OperationCost> weight_cast;  // of all products, once a step
  std::optional<FfnCosts> ffn;               // dense, or shared experts along with `moe`
  std::optional<ExpertCosts> moe;
  std::uint64_t whole_bytes = 0;  // e T H: reduce-scatter input, all-reduce buffer
  std::uint64_t shard_bytes = 0;  // e T H/t: all-gather input
  SavedBytes saved;
  // On one rank: all but routed experts, and those.
  std::uint64_t parameters = 0;  // dense: (H (q + 2k) + q H + (g + 1) H F)/t + 2 H
  std::uint64_t expert_parameters = 0;
  double model_flops = 0;  // of the model's own arithmetic, forward and backward, on one rank

  // Whether it has a feed-forward block, or experts.
  [[nodiscard]] bool has_block() const { return ffn.has_value() || moe.has_value(); }
  [[nodiscard]] std::size_t blocks() const {
    return attention.size() + (mamba ? 1 : 0) + (has_block() ? 1 : 0);
  }
};

struct TransformerCosts {
  std::vector<LayerCosts> kinds;
  std::vector<std::uint8_t> kind_of_layer;

  // Embedding, head and loss. Vision: `patches` in place of the embedding.
  OperationPair norm, embedding;
  std::optional<OperationPair> decoder_embedding;  // encoder-decoder
  GemmCosts head;
  OperationCost loss_maximum, loss_sum, loss_gradient;
  // Of model.predictions, each: from what came before and the token's embedding, both behind a
  // norm, on T' tokens with weights that every rank of a tensor group has whole.
  std::optional<GemmCosts> prediction;
  bool is_vision = false;

  // Bytes of one transfer, per rank (commBytes; see graph.h).
  std::uint64_t whole_bytes = 0;  // of the embedding's output and the head's input: e T H
  std::uint64_t shard_bytes = 0;  // e T H/t
  std::uint64_t encoder_whole_bytes = 0, encoder_shard_bytes = 0;
  std::uint64_t boundary_bytes = 0;  // between stages: e T' H
  std::uint64_t encoder_boundary_bytes = 0;
  std::uint64_t loss_bytes = 0;    // 4 T: one fp32 scalar a token
  std::uint64_t logits_bytes = 0;  // saved by each head: its input, and logits in fp32

  // Parameters on one rank. A norm has H, on every rank of its tensor group; biases are left out.
  std::uint64_t embedding_parameters = 0;   // V H/t; vision: of the patches' product
  std::uint64_t head_parameters = 0;        // V H/t; vision: H classes
  std::uint64_t final_norm_parameters = 0;  // H; and 2 H^2 + 3 H for each of model.predictions
  double edge_model_flops = 0;  // heads, and patches, on one rank: as LayerCosts::model_flops

  [[nodiscard]] const LayerCosts& layer(std::uint32_t index) const {
    return kinds[kind_of_layer[index]];
  }
};

// Of the rank at `expert_rank` among those that share a layer's experts.
// Requires a spec that check() accepts, except for sizes: throws SpecProblem "model" where an
// operation reaches 2^62 FLOPs or bytes.
TransformerCosts transformer_costs(const TransformerSpec& spec, const ExpertRouting& routing,
                                   std::uint32_t expert_rank);

// Parameters of the whole model, each counted once.
std::uint64_t parameter_count(const ModelSpec& model);

}  // namespace exawarp::model
