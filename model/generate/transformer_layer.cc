// One layer of a program; see transformer_layer.h.
//
// A dense layer and micro-batch, with sequence parallelism (a star: on the tensor stream):
//   forward   norm  *AG  qkv  rotary  attention  projection  *RS  residual
//             norm  *AG  ffn_in  activation  ffn_out  *RS  residual
//   backward  *AG(dY)  ffn_out.dx  ffn_out.dw  activation  *AG(x)  ffn_in.dx  *RS(dX)  ffn_in.dw
//             norm  residual
//             *AG(dY)  projection.dx  projection.dw  attention  rotary  *AG(x)  qkv.dx  *RS(dX)
//             qkv.dw  norm  residual
// Six all-gathers of a shard and four reduce-scatters of the whole. AG(x) starts when its product's
// backward starts and overlaps dX; RS(dX) overlaps dW, as Megatron-LM does it. Without
// sequence parallelism four all-reduces of the whole stand in for all ten: after projection and
// ffn_out forward, and of dX backward.
//
// Blocks side by side are in transformer_parallel_blocks.cc, state-space ones in
// transformer_mamba_layer.cc.
//
// Experts (two stars: on the expert stream; three: on the expert tensor stream), beside which the
// shared experts' products run:
//   forward   norm  router  top_k  permute  **A2A  [shared]  ***AG  expert_in  activation
//             expert_out  ***RS  **A2A  unpermute  residual
//   backward  unpermute  **A2A  [shared]  ***AG  expert_out.dx .dw  activation  expert_in.dx .dw
//             ***RS  **A2A  permute  top_k  router.dx .dw  norm  residual
#include "model/generate/transformer_layer.h"

#include <utility>

#include "core/check.h"

namespace exawarp::model {
namespace {

using schema::CollectiveType;

// An n-th of an operation; of bytes, rounded up. Products and kernels that move memory have an n-th
// of the rows (or, where all is one row, of its elements); attention's parts are those of a ring,
// which see as many keys as they have queries.
OperationCost part_of(OperationCost cost, std::uint32_t n) {
  if (n == 1) return cost;
  if (auto* gemm = std::get_if<GemmShape>(&cost.shape)) gemm->m = divide_up(gemm->m, n);
  if (auto* core = std::get_if<AttentionShape>(&cost.shape)) {
    core->past_tokens = 0;
    if (core->window != 0) cost.shape = {};  // most of what a part has is outside of windows
  }
  if (auto* stream = std::get_if<StreamShape>(&cost.shape)) {
    std::uint64_t& split = stream->rows > 1 ? stream->rows : stream->width;
    split = divide_up(split, n);
  }
  cost.flops = divide_up(cost.flops, n);
  cost.bytes_read = divide_up(cost.bytes_read, n);
  cost.bytes_written = divide_up(cost.bytes_written, n);
  return cost;
}

}  // namespace

// ---- whole layers

LayerWriter::Node LayerWriter::forward(const LayerCosts& layer, Node input) {
  if (layer.sum) return parallel_forward(layer, input);
  for (const AttentionCosts& a : layer.attention) input = attention_forward(a, layer, input);
  if (layer.mamba) input = mamba_forward(*layer.mamba, layer, input);
  if (!layer.has_block()) return input;
  const std::uint32_t normed = out_.compute(layer.norm.forward, {input});
  const Node reduced =
      layer.moe ? experts_forward(layer, normed) : ffn_forward(*layer.ffn, layer, normed);
  return add_residual(layer, reduced);
}

LayerWriter::Node LayerWriter::backward(const LayerCosts& layer, Node gradient, bool with_weights) {
  if (layer.sum) return parallel_backward(layer, gradient, with_weights);
  if (layer.has_block()) gradient = block_backward(layer, gradient, with_weights);
  if (layer.mamba) gradient = mamba_backward(*layer.mamba, layer, gradient, with_weights);
  for (std::size_t i = layer.attention.size(); i-- > 0;) {
    gradient = attention_backward(layer.attention[i], layer, gradient, with_weights);
  }
  return gradient;
}

LayerWriter::Node LayerWriter::block_backward(const LayerCosts& layer, Node gradient,
                                              bool with_weights) {
  if (layer.moe && plan_.spec.recompute.kind == Recompute::kExperts) {
    const schema::Phase phase = std::exchange(out_.context().phase, schema::Phase::RECOMPUTE);
    experts_forward(layer, out_.compute(layer.norm.forward));
    out_.context().phase = phase;
  }
  gradient = enter_block(layer, gradient);
  const Node reduced = layer.moe ? experts_backward(layer, gradient, with_weights)
                                 : ffn_backward(*layer.ffn, layer, gradient, with_weights);
  again(layer.norm.forward);
  out_.compute(layer.norm.backward, {reduced});
  return out_.compute(layer.residual.backward);
}

void LayerWriter::weights(const LayerCosts& layer) {
  if (layer.sum) return parallel_weights(layer);
  if (layer.moe) {
    if (layer.moe->widen) out_.compute(layer.moe->widen->weight_gradient);
    out_.compute(layer.moe->experts.out.weight_gradient);
    out_.compute(layer.moe->experts.in.weight_gradient);
    if (layer.moe->narrow) out_.compute(layer.moe->narrow->weight_gradient);
    out_.compute(layer.moe->router.weight_gradient);
  }
  if (layer.ffn) {
    out_.compute(layer.ffn->out.weight_gradient);
    column_weights({layer.ffn->in}, layer.shard_bytes);
  }
  if (layer.mamba) mamba_weights(*layer.mamba, layer);
  for (std::size_t i = layer.attention.size(); i-- > 0;) {
    const AttentionCosts& a = layer.attention[i];
    out_.compute(a.projection.weight_gradient);
    column_weights(a.in, a.gather_bytes + a.memory_bytes);
    if (a.down) out_.compute(a.down->weight_gradient);
  }
}

LayerWriter::Node LayerWriter::add_residual(const LayerCosts& layer, Node reduced) {
  if (layer.dropout) {
    out_.compute(*layer.dropout, {reduced});
    reduced.reset();
  }
  return out_.compute(layer.residual.forward, {reduced});
}

LayerWriter::Node LayerWriter::enter_block(const LayerCosts& layer, Node gradient) {
  if (!layer.dropout_backward) return gradient;
  return out_.compute(*layer.dropout_backward, {gradient});
}

void LayerWriter::again(const OperationCost& cost) {
  if (plan_.spec.recompute.kind != Recompute::kLatent) return;
  const schema::Phase phase = std::exchange(out_.context().phase, schema::Phase::RECOMPUTE);
  out_.compute(cost);
  out_.context().phase = phase;
}

std::uint32_t LayerWriter::kernels(const std::vector<OperationCost>& kernels, Node after,
                                   std::uint32_t parts) {
  EXAWARP_CHECK(!kernels.empty());
  std::uint32_t last = 0;
  for (const OperationCost& kernel : kernels) {
    last = out_.compute(part_of(kernel, parts), {after});
    after.reset();
  }
  return last;
}

std::uint32_t LayerWriter::product(const OperationCost& cost,
                                   const std::optional<OperationCost>& cast, Node after,
                                   std::uint32_t parts) {
  if (cast) {
    out_.compute(part_of(*cast, parts), {after});
    after.reset();
  }
  return out_.compute(part_of(cost, parts), {after});
}

std::uint32_t LayerWriter::product(const GemmCosts& gemm, Node after) {
  return product(gemm.forward, gemm.cast, after);
}

std::uint32_t LayerWriter::product_backward(const GemmCosts& gemm, Node gradient,
                                            bool with_weights) {
  const std::uint32_t dx = product(gemm.input_gradient, gemm.gradient_cast, gradient);
  if (with_weights) out_.compute(gemm.weight_gradient);
  return dx;
}

// ---- attention

LayerWriter::Node LayerWriter::attention_forward(const AttentionCosts& a, const LayerCosts& layer,
                                                 Node input) {
  std::uint32_t last = out_.compute(a.norm.forward, {input});
  if (a.down) last = product(*a.down);
  column_forward(a.in, a.gather_bytes + a.memory_bytes, last);
  if (!a.is_cross) out_.compute(a.rotary.forward);
  core_forward(a);
  return add_residual(layer, row_forward(a.projection, layer.whole_bytes));
}

LayerWriter::Node LayerWriter::attention_backward(const AttentionCosts& a, const LayerCosts& layer,
                                                  Node gradient, bool with_weights) {
  row_backward(a.projection, layer.shard_bytes, enter_block(layer, gradient), with_weights);
  core_again(a);
  if (plan_.spec.recompute.kind == Recompute::kLatent && a.down) {
    const schema::Phase phase = std::exchange(out_.context().phase, schema::Phase::RECOMPUTE);
    column_forward(a.in, a.gather_bytes + a.memory_bytes, out_.last_compute());
    out_.context().phase = phase;
  }
  core_backward(a);
  if (!a.is_cross) out_.compute(a.rotary.backward);
  Node reduced =
      column_backward(a.in, a.gather_bytes + a.memory_bytes, out_.last_compute(), with_weights);
  if (a.down) reduced = product_backward(*a.down, reduced, with_weights);
  again(a.norm.forward);
  out_.compute(a.norm.backward, {reduced});
  return out_.compute(layer.residual.backward);
}

LayerWriter::Node LayerWriter::context_collective(const char* name, CollectiveType type,
                                                  std::uint64_t bytes, Node after) {
  return out_.collective({.name = name,
                          .type = type,
                          .stream = kContext,
                          .group = plan_.mesh.context,
                          .bytes = bytes,
                          .data_type = plan_.spec.precision,
                          .root = type == CollectiveType::PERMUTE ? 1u : 0u},
                         {after});
}

// A sequence is distributed so that a causal mask leaves every rank as much to do in every part
// (first and last piece together, as Megatron-LM and Llama 3 do).
void LayerWriter::core_forward(const AttentionCosts& a) {
  if (plan_.context() == 1) {
    kernels(a.core);
    return;
  }
  const Node ready = out_.last_compute();
  switch (plan_.spec.parallel.context_method) {
    case ContextMethod::kRing:
      return ring(a, a.core, false);
    case ContextMethod::kAllGather:
      for (const char* what : {"keys.all_gather", "values.all_gather"}) {
        out_.wait_for(
            context_collective(what, CollectiveType::ALL_GATHER, a.key_value_bytes, ready));
      }
      kernels(a.core);
      return;
    case ContextMethod::kUlysses:
      out_.wait_for(
          context_collective("heads.all_to_all", CollectiveType::ALL_TO_ALL, a.heads_bytes, ready));
      out_.wait_for(context_collective("output.all_to_all", CollectiveType::ALL_TO_ALL,
                                       a.output_bytes, kernels(a.core)));
  }
}

void LayerWriter::core_again(const AttentionCosts& a) {
  if (plan_.spec.recompute.kind != Recompute::kSelective) return;
  const schema::Phase phase = std::exchange(out_.context().phase, schema::Phase::RECOMPUTE);
  kernels(a.core);
  out_.context().phase = phase;
}

void LayerWriter::core_backward(const AttentionCosts& a) {
  if (plan_.context() == 1) {
    kernels(a.core_backward);
    return;
  }
  const Node ready = out_.last_compute();
  switch (plan_.spec.parallel.context_method) {
    case ContextMethod::kRing:
      return ring(a, a.core_backward, true);
    case ContextMethod::kAllGather: {
      const std::uint32_t done = kernels(a.core_backward);
      for (const char* what : {"keys.reduce_scatter", "values.reduce_scatter"}) {
        out_.wait_for(context_collective(what, CollectiveType::REDUCE_SCATTER,
                                         plan_.context() * a.key_value_bytes, done));
      }
      return;
    }
    case ContextMethod::kUlysses:
      out_.wait_for(context_collective("output.all_to_all", CollectiveType::ALL_TO_ALL,
                                       a.output_bytes, ready));
      out_.wait_for(context_collective("heads.all_to_all", CollectiveType::ALL_TO_ALL,
                                       a.heads_bytes, kernels(a.core_backward)));
  }
}

// Part i works on the keys and values that came i hops round the ring, while they hop on for part
// i + 1; in backward their gradients follow them and come home with the last hop.
void LayerWriter::ring(const AttentionCosts& a, const std::vector<OperationCost>& core,
                       bool is_backward) {
  const std::uint32_t n = plan_.context();
  const Node ready = out_.last_compute();
  Node arrived;
  for (std::uint32_t i = 0; i < n; ++i) {
    Node next;
    if (i + 1 < n) {
      next = context_collective("keys_values.permute", CollectiveType::PERMUTE,
                                2 * a.key_value_bytes, i == 0 ? ready : Node{});
    }
    const std::uint32_t done = kernels(core, arrived, n);
    arrived = next;
    if (!is_backward || i == 0) continue;
    const Node home = context_collective("gradients.permute", CollectiveType::PERMUTE,
                                         2 * a.key_value_bytes, done);
    if (i + 1 == n) out_.wait_for(home);
  }
}

// ---- feed-forward block and experts

std::uint32_t LayerWriter::activate(const FfnCosts& ffn) {
  if (ffn.activation_parts) out_.compute(ffn.activation_parts->forward);
  return out_.compute(ffn.activation.forward);
}

std::uint32_t LayerWriter::activate_backward(const FfnCosts& ffn) {
  const std::uint32_t last = out_.compute(ffn.activation.backward);
  return ffn.activation_parts ? out_.compute(ffn.activation_parts->backward) : last;
}

LayerWriter::Node LayerWriter::ffn_forward(const FfnCosts& ffn, const LayerCosts& layer,
                                           Node normed) {
  column_forward({ffn.in}, layer.shard_bytes, normed);
  activate(ffn);
  return row_forward(ffn.out, layer.whole_bytes);
}

LayerWriter::Node LayerWriter::ffn_backward(const FfnCosts& ffn, const LayerCosts& layer,
                                            Node gradient, bool with_weights) {
  again(ffn.activation.forward);
  row_backward(ffn.out, layer.shard_bytes, gradient, with_weights);
  return column_backward({ffn.in}, layer.shard_bytes, activate_backward(ffn), with_weights);
}

LayerWriter::Node LayerWriter::experts_forward(const LayerCosts& layer, Node normed) {
  const ExpertCosts& moe = *layer.moe;
  out_.compute(moe.router.forward);
  const std::uint32_t chosen = out_.compute(moe.top_k.forward);
  if (moe.narrow) product(*moe.narrow);
  const std::uint32_t permuted = out_.compute(moe.permute.forward);
  if (plan_.spec.host.counts && plan_.spec.kernels.separate_experts) out_.host_waits_for(chosen);
  const Exchange dispatched = exchange(moe, true, permuted);
  Node shared;
  if (layer.ffn) shared = ffn_forward(*layer.ffn, layer, normed);
  const FfnCosts& ffn = moe.experts;
  const bool fused = plan_.spec.kernels.fused_experts;
  product(ffn.in.forward, ffn.in.cast, sorted(moe, gather_slots(moe, dispatched)));
  if (!fused) activate(ffn);
  std::uint32_t computed = product(ffn.out.forward, ffn.out.cast);
  if (moe.bias) computed = out_.compute(moe.bias->forward);
  computed = sorted_back(moe, computed);
  const Exchange combined = exchange(moe, false, reduce_slots(moe, computed));
  out_.compute(moe.unpermute.forward, {combined[0], combined[1]});
  if (moe.widen) product(*moe.widen);
  return shared;
}

LayerWriter::Node LayerWriter::experts_backward(const LayerCosts& layer, Node gradient,
                                                bool with_weights) {
  const ExpertCosts& moe = *layer.moe;
  if (moe.widen) {
    product_backward(*moe.widen, gradient, with_weights);
    gradient = out_.last_compute();
  }
  const Exchange sent = exchange(moe, true, out_.compute(moe.unpermute.backward, {gradient}));
  Node shared;
  if (layer.ffn) shared = ffn_backward(*layer.ffn, layer, gradient, with_weights);
  const FfnCosts& ffn = moe.experts;
  if (ffn.activation_parts) again(ffn.activation_parts->forward);
  again(ffn.activation.forward);
  Node arrived = sorted(moe, gather_slots(moe, sent));
  if (moe.bias) arrived = out_.compute(moe.bias->backward, {arrived});
  product(ffn.out.input_gradient, ffn.out.gradient_cast, arrived);
  if (with_weights) out_.compute(ffn.out.weight_gradient);
  const bool fused = plan_.spec.kernels.fused_experts;
  if (!fused) activate_backward(ffn);
  const std::uint32_t dx = sorted_back(moe, product(ffn.in.input_gradient, ffn.in.gradient_cast));
  const Exchange home = exchange(moe, false, reduce_slots(moe, dx));
  if (with_weights) out_.compute(ffn.in.weight_gradient);
  out_.compute(moe.permute.backward, {home[0], home[1]});
  if (moe.narrow) product_backward(*moe.narrow, {}, with_weights);
  out_.compute(moe.top_k.backward);
  out_.compute(moe.router.input_gradient);
  if (with_weights) out_.compute(moe.router.weight_gradient);
  return shared;
}

LayerWriter::Exchange LayerWriter::exchange(const ExpertCosts& moe, bool to_experts, Node after) {
  if (plan_.expert() == 1) return {after};
  const bool equal = plan_.routing.balanced;
  const std::vector<std::uint32_t>& sizes = to_experts ? plan_.dispatch_sizes : plan_.combine_sizes;
  ProgramWriter::Collective all_to_all{
      .name = to_experts ? "expert.dispatch" : "expert.combine",
      .type = CollectiveType::ALL_TO_ALL,
      .stream = kExpert,
      .group = plan_.mesh.expert,
      .bytes = !equal       ? 0
               : to_experts ? moe.dispatch_bytes
                            : moe.combine_bytes,
      .data_type = to_experts ? dispatch_precision_of(plan_.spec) : plan_.spec.precision,
      .root = 0,
      .sizes = equal ? 0 : sizes[moe.pattern]};
  Exchange done;
  if (plan_.expert_ranks_of_node != 1) done[0] = out_.collective(all_to_all, {after});
  if (moe.node_dispatch_bytes == 0) return done;
  all_to_all.name = to_experts ? "expert.dispatch.nodes" : "expert.combine.nodes";
  all_to_all.stream = kExpertNodes;
  all_to_all.group = plan_.mesh.expert_nodes;
  all_to_all.bytes = to_experts ? moe.node_dispatch_bytes : moe.node_combine_bytes;
  done[1] = out_.collective(all_to_all, {after});
  return done;
}

LayerWriter::Node LayerWriter::sorted(const ExpertCosts& moe, Node arrived) {
  if (!moe.sort) return arrived;
  return out_.compute(moe.sort->forward, {arrived});
}

std::uint32_t LayerWriter::sorted_back(const ExpertCosts& moe, std::uint32_t computed) {
  return moe.sort ? out_.compute(moe.sort->backward) : computed;
}

LayerWriter::Node LayerWriter::gather_slots(const ExpertCosts& moe, const Exchange& after) {
  if (expert_tensor_of(plan_.spec.parallel) == 1) {
    out_.wait_for(after[1]);
    return after[0];
  }
  return out_.collective({"expert.all_gather", CollectiveType::ALL_GATHER, expert_tensor_stream(),
                          plan_.mesh.expert_tensor, moe.tensor_shard_bytes, plan_.spec.precision},
                         {after[0], after[1]});
}

LayerWriter::Node LayerWriter::reduce_slots(const ExpertCosts& moe, Node after) {
  if (expert_tensor_of(plan_.spec.parallel) == 1) return after;
  return out_.collective(
      {"expert.reduce_scatter", CollectiveType::REDUCE_SCATTER, expert_tensor_stream(),
       plan_.mesh.expert_tensor, moe.tensor_whole_bytes, plan_.spec.precision},
      {after});
}

// ---- tensor parallelism

std::uint32_t LayerWriter::parts() const {
  if (plan_.tensor() == 1 || plan_.spec.overlap.tensor != TensorOverlap::kPipelined) return 1;
  return static_cast<std::uint32_t>(plan_.spec.overlap.tensor_parts);
}

void LayerWriter::column_forward(const std::vector<GemmCosts>& products, std::uint64_t shard_bytes,
                                 Node input) {
  const std::uint32_t n = plan_.splits_sequence() ? parts() : 1;
  for (std::uint32_t i = 0; i < n; ++i) {
    Node gathered = gather(input, divide_up(shard_bytes, n));
    for (const GemmCosts& gemm : products) {
      product(gemm.forward, gemm.cast, gathered, n);
      gathered.reset();
    }
  }
}

LayerWriter::Node LayerWriter::row_forward(const GemmCosts& gemm, std::uint64_t whole_bytes) {
  const std::uint32_t n = parts();
  Node reduced;
  for (std::uint32_t i = 0; i < n; ++i) {
    reduced = reduce(product(gemm.forward, gemm.cast, {}, n), divide_up(whole_bytes, n));
  }
  return reduced;
}

void LayerWriter::row_backward(const GemmCosts& gemm, std::uint64_t shard_bytes, Node gradient,
                               bool with_weights) {
  const std::uint32_t n = plan_.splits_sequence() ? parts() : 1;
  for (std::uint32_t i = 0; i < n; ++i) {
    product(gemm.input_gradient, gemm.gradient_cast, gather(gradient, divide_up(shard_bytes, n)),
            n);
  }
  if (with_weights) out_.compute(gemm.weight_gradient);
}

LayerWriter::Node LayerWriter::column_backward(const std::vector<GemmCosts>& products,
                                               std::uint64_t shard_bytes, Node produced_by,
                                               bool with_weights,
                                               const std::vector<OperationCost>& sum) {
  const bool exposed = plan_.spec.overlap.tensor == TensorOverlap::kNone;
  const Node gathered = with_weights ? gather(produced_by, shard_bytes) : produced_by;
  const std::uint32_t n = parts();
  Node reduced;
  for (std::uint32_t i = 0; i < n; ++i) {
    Node last;
    for (const GemmCosts& gemm : products) {
      last = product(gemm.input_gradient, gemm.gradient_cast, exposed ? gathered : Node{}, n);
    }
    if (!sum.empty()) last = kernels(sum, {}, n);
    reduced = reduce(last, divide_up(shard_bytes * plan_.tensor(), n));
  }
  if (!with_weights) return reduced;
  Node before = gathered;
  for (const GemmCosts& gemm : products) {
    out_.compute(gemm.weight_gradient, {before, exposed ? reduced : Node{}});
    before.reset();
  }
  return reduced;
}

void LayerWriter::column_weights(const std::vector<GemmCosts>& products,
                                 std::uint64_t shard_bytes) {
  Node gathered = gather(out_.last_compute(), shard_bytes);
  for (const GemmCosts& gemm : products) {
    out_.compute(gemm.weight_gradient, {gathered});
    gathered.reset();
  }
}

LayerWriter::Node LayerWriter::gather(Node after, std::uint64_t shard_bytes) {
  if (!plan_.splits_sequence()) return after;
  return out_.collective({"tensor.all_gather", CollectiveType::ALL_GATHER, kTensor,
                          plan_.mesh.tensor, shard_bytes, plan_.spec.precision},
                         {after});
}

LayerWriter::Node LayerWriter::reduce(Node after, std::uint64_t whole_bytes) {
  if (plan_.tensor() == 1) return after;
  if (plan_.spec.parallel.sequence_parallel) {
    return out_.collective({"tensor.reduce_scatter", CollectiveType::REDUCE_SCATTER, kTensor,
                            plan_.mesh.tensor, whole_bytes, plan_.spec.precision},
                           {after});
  }
  return out_.collective({"tensor.all_reduce", CollectiveType::ALL_REDUCE, kTensor,
                          plan_.mesh.tensor, whole_bytes, plan_.spec.precision},
                         {after});
}

}  // namespace exawarp::model
