// What each operation of a decoder-only transformer costs on one rank: floating-point operations,
// bytes of memory traffic, bytes sent. All for one micro-batch; formulas as in docs/model.md.
//
// Symbols: T = micro-batch sequences * sequence length (tokens), S = sequence length, H = hidden,
// F = ffn, q = heads * head dim (H unless a head dim is given), k = kv heads * head dim,
// V = vocabulary, t = tensor-parallel size, e = bytes an element, g = 2 with a gated ffn, else 1.
// With sequence parallelism (SP) norms and residuals see T/t tokens, else T; below: T'.
//
// operation            FLOPs                           bytes read              bytes written
// norm                 5 T' H                          e T' H                  e T' H
//   backward           5 T' H                          2 e T' H                e T' H
// GEMM (M, K, N)       2 M K N                         e (M K + K N)           e M N
//   dX, dW             2 M K N each                    their two operands      their result
// rotary, split        0 (a few an element)            e T (q + k)/t           as read
// attention, forward   4 T S q/t, half if causal       e T (q + 2k)/t          e T q/t
//   backward (flash)   10 T S q/t, half if causal      e T (3q + 2k)/t         e T (q + 2k)/t
// residual             T' H                            2 e T' H                e T' H
// activation           5 T F/t                         g e T F/t               e T F/t
//   backward           5 T F/t                         (g + 1) e T F/t         g e T F/t
// embedding            0 (backward T H: scatter-add)   e T H                   e T H
// loss maximum         T V/t                           e T V/t                 4 T
// loss sum             3 T V/t                         e T V/t                 8 T
// loss gradient        2 T V/t                         e T V/t                 e T V/t
//
// Flash attention reads and writes no scores, and computes them again in backward: 10, not 8.
// The model's own arithmetic (WorkloadGraph training totals) counts 8 and leaves the rest as is.
#pragma once

#include <cstdint>

#include "model/workload/spec.h"

namespace exawarp::model {

struct OperationCost {
  schema::Operation operation = schema::Operation::OTHER;
  const char* name = "";
  std::uint64_t flops = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
};

// A matrix product of the forward pass and the two of its backward pass.
struct GemmCosts {
  OperationCost forward, input_gradient, weight_gradient;
};

struct OperationPair {
  OperationCost forward, backward;
};

struct TransformerCosts {
  OperationPair norm, rotary, attention, residual, activation;
  GemmCosts qkv, projection, ffn_in, ffn_out;  // ffn_in: up, and gate where there is one
  OperationPair embedding;
  GemmCosts head;
  OperationCost loss_maximum, loss_sum, loss_gradient;

  // Bytes of one transfer, per rank (commBytes; see graph.h).
  std::uint64_t whole_bytes = 0;     // e T H: reduce-scatter input, all-reduce buffer
  std::uint64_t shard_bytes = 0;     // e T H/t: all-gather input
  std::uint64_t pipeline_bytes = 0;  // to the next stage: e T' H
  std::uint64_t loss_bytes = 0;      // 4 T: one fp32 scalar a token

  // Parameters on one rank. A norm has H, on every rank of its tensor group; biases are left out.
  std::uint64_t layer_parameters = 0;       // (H (q + 2k) + q H + (g + 1) H F)/t + 2 H
  std::uint64_t embedding_parameters = 0;   // V H/t; the head has as many
  std::uint64_t final_norm_parameters = 0;  // H

  // Of the model's own arithmetic, forward and backward, one layer or the head on one rank.
  std::uint64_t layer_model_flops = 0;
  std::uint64_t head_model_flops = 0;
};

// Requires a spec that check() accepts, but for sizes: throws SpecProblem "model" where an
// operation reaches 2^62 FLOPs or bytes.
TransformerCosts transformer_costs(const TransformerSpec& spec);

// Parameters of the whole model, each counted once.
std::uint64_t parameter_count(const ModelSpec& model);

}  // namespace exawarp::model
