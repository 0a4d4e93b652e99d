// Costs of feed-forward blocks and of layers of experts; see transformer_ffn.h.
#include "model/generate/transformer_ffn.h"

#include <algorithm>
#include <cmath>

#include "model/generate/transformer_mesh.h"

namespace exawarp::model {
namespace {

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
  using Kernel = schema::StreamKernel;
  const Wide inner = f.rows * f.ffn;
  const Wide g = f.in_matrices;
  const auto shape = [&](Kernel gated, Kernel plain) {
    return f.fused ? Table::stream(g == 2 ? gated : plain, f.rows, f.ffn) : Shape{};
  };
  return {table.gemm(names.in, f.rows, f.hidden, g * f.ffn, f.matrices),
          {table.row(Op::ELEMENTWISE, names.activation, 5 * inner, g * inner, inner,
                     shape(Kernel::SWIGLU, Kernel::GELU)),
           table.row(Op::ELEMENTWISE, names.activation_backward, 5 * inner, (g + 1) * inner,
                     g * inner, shape(Kernel::SWIGLU_BACKWARD, Kernel::GELU_BACKWARD))},
          activation_parts_of(f, table),
          table.gemm(names.out, f.rows, f.ffn, f.hidden, f.matrices)};
}

// Products of the rows of one expert: a node has the FLOPs of as many as the device has experts.
// So have what converts their operands.
void set_separate_shapes(FfnCosts& ffn, const TransformerSpec& spec, Wide rows) {
  const Wide experts = wide(spec.model.moe.experts / spec.parallel.expert);
  const std::uint64_t each = to_count((rows + experts - 1) / experts);
  for (GemmCosts* gemm : {&ffn.in, &ffn.out}) {
    std::get<GemmShape>(gemm->forward.shape).m = each;
    std::get<GemmShape>(gemm->input_gradient.shape).m = each;
    std::get<GemmShape>(gemm->weight_gradient.shape).k = each;
    for (OperationCost* cost : {&gemm->forward, &gemm->input_gradient, &gemm->weight_gradient,
                                gemm->cast ? &*gemm->cast : nullptr,
                                gemm->gradient_cast ? &*gemm->gradient_cast : nullptr}) {
      if (cost != nullptr) cost->launches = static_cast<std::uint32_t>(experts);
    }
  }
}

// The layer of which `rows` are this rank's share, were its experts equally busy.
void set_expert_shapes(FfnCosts& ffn, const TransformerSpec& spec, Wide rows) {
  if (rows == 0 || spec.kernels.dense_experts) return;
  if (spec.kernels.separate_experts) return set_separate_shapes(ffn, spec, rows);
  const MoeSpec& moe = spec.model.moe;
  const Wide tokens = rows * wide(spec.parallel.expert) / wide(moe.top_k);
  const ExpertShape shape{.tokens = to_count(std::max<Wide>(tokens, 1)),
                          .hidden = to_count(wide(expert_width_of(spec.model))),
                          .inner = to_count(wide(moe.ffn)),
                          .top_k = to_count(wide(moe.top_k)),
                          .experts = to_count(wide(moe.experts)),
                          .tensor = to_count(wide(expert_tensor_of(spec.parallel))),
                          .expert = to_count(wide(spec.parallel.expert)),
                          .gated = spec.model.gated_ffn};
  for (GemmCosts* gemm : {&ffn.in, &ffn.out}) {
    gemm->forward.shape = gemm->input_gradient.shape = gemm->weight_gradient.shape = shape;
  }
}

// The all-to-alls' bytes; and tokens that travel in fp8 are converted once each, before they go,
// not once an expert.
void set_exchange(ExpertCosts& e, const TransformerSpec& spec, const Sizes& s, const Table& table,
                  Wide sent) {
  const Wide there = wide(bytes_of(dispatch_precision_of(spec)));
  const Wide width = wide(expert_width_of(spec.model));
  if (spec.routing.dispatch_precision == schema::DataType::FP8) {
    const Wide tokens = s.local_tokens * width;
    if (e.experts.in.cast) e.experts.in.cast = table.cast("cast", tokens);
    if (e.experts.out.gradient_cast)
      e.experts.out.gradient_cast = table.cast("cast.backward", tokens);
  }
  if (spec.routing.node_devices == 0 || spec.parallel.expert == 1) {
    e.dispatch_bytes = to_count(there * sent * width);
    e.combine_bytes = to_count(s.element * sent * width);
    return;
  }
  const std::int64_t of_node = expert_ranks_of_node(spec);
  const TokenReach reach = reach_of_token(spec, of_node);
  const auto elements = [&](double copies) {
    return static_cast<Wide>(std::ceil(copies * static_cast<double>(s.local_tokens))) * width;
  };
  e.dispatch_bytes = to_count(there * elements(reach.ranks));
  e.combine_bytes = to_count(s.element * elements(reach.ranks));
  if (of_node == spec.parallel.expert) return;
  e.node_dispatch_bytes = to_count(there * elements(reach.nodes));
  e.node_combine_bytes = to_count(s.element * elements(reach.nodes));
}

// Beside another pass over memory, of the same name.
void add_pass(OperationCost& to, const OperationCost& pass) {
  to.flops += pass.flops;
  to.bytes_read += pass.bytes_read;
  to.bytes_written += pass.bytes_written;
}

// What Megatron-Core runs beside the products of experts with biases and clamps.
void set_expert_biases(ExpertCosts& e, const TransformerSpec& spec, Wide slots,
                       const Table& table) {
  const MoeSpec& moe = spec.model.moe;
  if (spec.kernels.fused_biases || spec.kernels.fused_experts) return;
  if (moe.biases) {
    const Wide n = slots * wide(expert_width_of(spec.model));
    const auto pass = [&](const char* name, Wide read, Wide written) {
      OperationCost cost = table.row(Op::ELEMENTWISE, name, 4 * n, 0, 0);
      cost.bytes_read = to_count(read);
      cost.bytes_written = to_count(written);
      return cost;
    };
    e.bias = {pass("expert.bias", 14 * n, 14 * n), pass("expert.bias.backward", 24 * n, 16 * n)};
  }
  if (!moe.clamped) return;
  const Wide n = slots * wide(moe.ffn) / wide(expert_tensor_of(spec.parallel));
  const OperationPair clamps{
      table.row(Op::ELEMENTWISE, "expert.clamp", 2 * n, 4 * n, 4 * n),
      table.row(Op::ELEMENTWISE, "expert.clamp.backward", 2 * n, 6 * n, 4 * n)};
  if (!e.experts.activation_parts) {
    e.experts.activation_parts = clamps;
    return;
  }
  add_pass(e.experts.activation_parts->forward, clamps.forward);
  add_pass(e.experts.activation_parts->backward, clamps.backward);
}

FfnCosts whole_ffn(const FfnNames& names, const TransformerSpec& spec, const Sizes& s,
                   const Table& table, Wide width) {
  return ffn_of(names,
                {.rows = s.tokens,
                 .hidden = s.hidden,
                 .ffn = width / s.tensor,
                 .in_matrices = s.ffn_matrices,
                 .matrices = 1,
                 .fused = spec.kernels.fused_activation},
                table);
}

}  // namespace

FfnCosts dense_ffn(const TransformerSpec& spec, const Sizes& s, const Table& table) {
  return whole_ffn(kDense, spec, s, table, s.ffn);
}

FfnCosts shared_ffn(const TransformerSpec& spec, const Sizes& s, const Table& table) {
  return whole_ffn(kShared, spec, s, table, wide(spec.model.moe.shared_ffn));
}

ExpertCosts experts_of(const TransformerSpec& spec, const Sizes& s, const Table& table,
                       const ExpertRouting& routing, std::uint32_t rank, std::uint32_t pattern) {
  const MoeSpec& moe = spec.model.moe;
  const Wide sent = routing.slots_sent;
  const Wide split = wide(expert_tensor_of(spec.parallel));
  const Wide received = routing.slots_of(pattern, rank);
  const Wide scored = s.local_tokens * wide(moe.experts);
  const Wide width = wide(expert_width_of(spec.model));
  const Wide out = s.local_tokens * width;
  const Wide slots = sent * width;
  ExpertCosts e;
  e.pattern = pattern;
  e.router = table.edge_gemm({"router", "router.dx", "router.dw"}, s.local_tokens, s.hidden,
                             wide(moe.experts));
  e.top_k = {table.row(Op::SOFTMAX, "router.top_k", 5 * scored, scored, scored),
             table.row(Op::SOFTMAX, "router.top_k.backward", 5 * scored, scored, scored)};
  if (moe.latent != 0) {
    e.narrow =
        table.gemm({"latent_in", "latent_in.dx", "latent_in.dw"}, s.local_tokens, s.hidden, width);
    e.widen = table.gemm({"latent_out", "latent_out.dx", "latent_out.dw"}, s.local_tokens, width,
                         s.hidden);
  }
  e.permute = {table.row(Op::ELEMENTWISE, "permute", 0, out, slots),
               table.row(Op::ELEMENTWISE, "permute.backward", slots, slots, out)};
  e.unpermute = {table.row(Op::ELEMENTWISE, "unpermute", 2 * slots, slots, out),
                 table.row(Op::ELEMENTWISE, "unpermute.backward", 2 * slots, out, slots)};
  if (spec.kernels.sort_slots && spec.routing.node_devices == 0 && spec.parallel.expert > 1 &&
      spec.model.moe.experts > spec.parallel.expert) {
    const Wide moved = split * received * width;
    const Shape shape = Table::stream(schema::StreamKernel::PERMUTE, split * received, width);
    e.sort = {table.row(Op::ELEMENTWISE, "sort", 0, moved, moved, shape),
              table.row(Op::ELEMENTWISE, "sort.back", 0, moved, moved, shape)};
  }
  e.experts = ffn_of(kExperts,
                     {.rows = split * received,
                      .hidden = width,
                      .ffn = wide(moe.ffn) / split,
                      .in_matrices = s.ffn_matrices,
                      .matrices = wide(moe.experts / spec.parallel.expert),
                      .fused = spec.kernels.fused_activation},
                     table);
  set_expert_biases(e, spec, split * received, table);
  if (spec.kernels.fused_experts) {
    e.experts.out.cast.reset();
    e.experts.in.gradient_cast.reset();
  }
  set_expert_shapes(e.experts, spec, split * received);
  set_exchange(e, spec, s, table, sent);
  e.tensor_shard_bytes = to_count(s.element * received * width);
  e.tensor_whole_bytes = to_count(s.element * split * received * width);
  return e;
}

}  // namespace exawarp::model
