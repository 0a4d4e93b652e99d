// State-space blocks (Mamba-2): their products, the convolution, and the scan in chunks.
//
// Beside the symbols of transformer_costs.h: d = mamba heads * head dim, N = state dim, G = groups,
// b = G N, K = convolution, L = chunk; all of d, b and heads are split t ways, and where the
// sequence is split c ways, tokens are exchanged for heads before the convolution and back after
// the scan, so that a rank has T c tokens and a c-th of its heads: as much as T with all of them.
//
// operation            FLOPs                           bytes read              bytes written
// mamba_in             GEMM (T, H, (2d + 2b + heads)/t)
// convolution          2 K T (d + 2b)/t                e T (d + 2b)/t          as read
//   backward           twice that                      2 e T (d + 2b)/t        e T (d + 2b)/t
// gated_norm           8 T d/t                         2 e T d/t               e T d/t
//   backward           16 T d/t                        3 e T d/t               2 e T d/t
// mamba_out            GEMM (T, d/t, H)
//
// The scan as the kernels of the authors' library (state-spaces/mamba, ops/triton/ssd_*.py, apart
// from the sums of time steps, which are a head's). Z = T d N/(L t): states at the ends of chunks;
// C = T G L/t: products of a chunk's tokens with each other. Both are fp32 where they are written
// first; states in `e` where they were passed on, in backward with their gradients alone.
// scan.states          2 T d N/t                       e T (d + b)/t           4 Z
// scan.pass            2 Z                             4 Z                     e Z
// scan.scores          2 L T b/t                       2 e T b/t               4 C
// scan.output          2 T d N/t + L T d/t             e T (d + b)/t + e Z     e T d/t
//                                                      + 4 C
//   backward: the convolution and the first three again, of which nothing is kept (the second
//   writes 4 Z); then
// scan.states.back     2 T d N/t                       e T (d + b)/t           4 Z
// scan.pass.back       4 Z                             8 Z                     2 e Z
// scan.input.back      2 T d N/t + L T d/t             e T (2d + b)/t + e Z    e T d/t
//                                                      + 4 C
// scan.b.back          2 T d N/t                       e T d/t + e Z           4 T b/t
// scan.c.back          2 T d N/t                       e T d/t + e Z           4 T b/t
// scan.scores.back     L T d/t                         2 e T d/t               4 C
// scan.groups.back     4 L T b/t                       8 C + (4 + e) 2 T b/t   2 e T b/t
// scan.steps.back      L T d/t                         2 e T d/t + 4 C         0
//
// Causal halves are taken of the products of a chunk's tokens with each other where the kernels
// take them: in scan.output and of d, not in scan.scores. The model's own arithmetic of the scan is
// 7 T d N/t (Megatron-LM, training.py, as of hybrid models), whatever the kernels do.
#pragma once

#include "model/generate/transformer_table.h"

namespace exawarp::model {

MambaCosts mamba_block(const TransformerSpec& spec, const Sizes& s, const Table& table);

// Of a layer, all heads together: elements of a sequence's state, which are kept in fp32, and of
// what its convolution still sees, in the precision of activations.
struct MambaState {
  Wide scan = 0, convolution = 0;
};
MambaState mamba_state(const MambaSpec& mamba);

// Elements of a token, of a rank's share. Requires groups that `tensor` divides.
struct MambaWidths {
  Wide heads, channels, shared;                                        // d/t, b/t
  [[nodiscard]] Wide seen() const { return channels + 2 * shared; }    // by the convolution
  [[nodiscard]] Wide in() const { return channels + seen() + heads; }  // gate, seen, time steps
};
MambaWidths mamba_widths(const MambaSpec& mamba, Wide tensor);

// On one rank, the norm before it not among them.
Wide mamba_parameters(const ModelSpec& model, Wide hidden, Wide tensor);

// Elements that a micro-batch leaves behind for the block's backward pass, besides its input: what
// the norm wrote, what the first product, the scan and the gated norm did.
Wide mamba_saved(const ModelSpec& model, const Sizes& s);

}  // namespace exawarp::model
