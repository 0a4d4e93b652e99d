// A layer whose attention and feed-forward blocks stand side by side: x + attention(norm(x)) +
// ffn(norm(x)) (Wang and Komatsuzaki, GPT-J; Chowdhery et al., arXiv:2204.02311, section 2).
//
// With sequence parallelism (a star: on the tensor stream), BlockOrder::kParallel:
//   forward   norm  *AG  qkv  ffn_in  rotary  attention  activation  projection  ffn_out  sum  *RS
//             residual
//   backward  *AG(dY)  projection.dx  ffn_out.dx  projection.dw  ffn_out.dw  attention  rotary
//             activation  *AG(x)  qkv.dx  ffn_in.dx  sum  *RS(dX)  qkv.dw  ffn_in.dw  norm
//             residual
// Three all-gathers of a shard and two reduce-scatters of the whole: half of what blocks one after
// the other have. BlockOrder::kParallelNorms has two inputs, which are gathered, and whose
// gradients are reduced, each for itself.
#include <vector>

#include "model/generate/transformer_layer.h"

namespace exawarp::model {
namespace {

bool shares_norm(const TransformerPlan& plan) {
  return plan.spec.model.blocks == BlockOrder::kParallel;
}

// Products that read what one norm wrote.
std::vector<GemmCosts> first_products(const LayerCosts& layer) {
  std::vector<GemmCosts> all = layer.attention.front().in;
  all.push_back(layer.ffn->in);
  return all;
}

}  // namespace

LayerWriter::Node LayerWriter::parallel_forward(const LayerCosts& layer, Node input) {
  const AttentionCosts& a = layer.attention.front();
  const FfnCosts& ffn = *layer.ffn;
  const std::uint32_t normed = out_.compute(a.norm.forward, {input});
  if (shares_norm(plan_)) {
    column_forward(first_products(layer), layer.shard_bytes, normed);
  } else {
    const std::uint32_t other = out_.compute(layer.norm.forward);
    column_forward(a.in, layer.shard_bytes, normed);
    column_forward({ffn.in}, layer.shard_bytes, other);
  }
  out_.compute(a.rotary.forward);
  core_forward(a);
  activate(ffn);
  const std::uint32_t n = parts();
  Node reduced;
  for (std::uint32_t i = 0; i < n; ++i) {
    product(a.projection.forward, a.projection.cast, {}, n);
    product(ffn.out.forward, ffn.out.cast, {}, n);
    reduced = reduce(kernels({layer.sum->forward}, {}, n), divide_up(layer.whole_bytes, n));
  }
  return add_residual(layer, reduced);
}

// Both blocks' last products, whose outputs' gradients are one.
void LayerWriter::parallel_out_backward(const LayerCosts& layer, Node gradient,
                                        bool with_weights) {
  const GemmCosts& projection = layer.attention.front().projection;
  const GemmCosts& out = layer.ffn->out;
  again(layer.ffn->activation.forward);
  const std::uint32_t n = plan_.splits_sequence() ? parts() : 1;
  for (std::uint32_t i = 0; i < n; ++i) {
    product(projection.input_gradient, projection.gradient_cast,
            gather(gradient, divide_up(layer.shard_bytes, n)), n);
    product(out.input_gradient, out.gradient_cast, {}, n);
  }
  if (!with_weights) return;
  out_.compute(projection.weight_gradient);
  out_.compute(out.weight_gradient);
}

LayerWriter::Node LayerWriter::parallel_backward(const LayerCosts& layer, Node gradient,
                                                 bool with_weights) {
  const AttentionCosts& a = layer.attention.front();
  const FfnCosts& ffn = *layer.ffn;
  parallel_out_backward(layer, enter_block(layer, gradient), with_weights);
  core_again(a);
  if (shares_norm(plan_)) {
    core_backward(a);
    out_.compute(a.rotary.backward);
    const Node reduced = column_backward(first_products(layer), layer.shard_bytes,
                                         activate_backward(ffn), with_weights,
                                         {layer.sum->backward});
    again(a.norm.forward);
    out_.compute(a.norm.backward, {reduced});
    return out_.compute(layer.residual.backward);
  }
  const Node of_ffn =
      column_backward({ffn.in}, layer.shard_bytes, activate_backward(ffn), with_weights);
  core_backward(a);
  const Node of_attention = column_backward(a.in, layer.shard_bytes,
                                            out_.compute(a.rotary.backward), with_weights);
  again(layer.norm.forward);
  out_.compute(layer.norm.backward, {of_ffn});
  out_.compute(layer.residual.backward);
  again(a.norm.forward);
  out_.compute(a.norm.backward, {of_attention});
  return out_.compute(layer.residual.backward);
}

void LayerWriter::parallel_weights(const LayerCosts& layer) {
  const AttentionCosts& a = layer.attention.front();
  out_.compute(a.projection.weight_gradient);
  out_.compute(layer.ffn->out.weight_gradient);
  if (shares_norm(plan_)) return column_weights(first_products(layer), layer.shard_bytes);
  column_weights({layer.ffn->in}, layer.shard_bytes);
  column_weights(a.in, layer.shard_bytes);
}

}  // namespace exawarp::model
