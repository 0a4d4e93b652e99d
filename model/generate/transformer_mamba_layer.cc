// A layer that is a state-space block (Mamba-2, Dao and Gu, arXiv:2405.21060, section 8).
//
// With sequence parallelism (a star: on the tensor stream; two: on the context stream, where the
// sequence is split):
//   forward   norm  *AG  mamba_in  **A2A  convolution  scan  **A2A  gated_norm  mamba_out  *RS
//             residual
//   backward  *AG(dY)  mamba_out.dx  mamba_out.dw  gated_norm  **A2A  scan  convolution  **A2A
//             *AG(x)  mamba_in.dx  *RS(dX)  mamba_in.dw  norm  residual
#include "model/generate/transformer_layer.h"

namespace exawarp::model {

void LayerWriter::exchange_heads(const char* name, std::uint64_t bytes) {
  if (plan_.context() == 1) return;
  out_.wait_for(
      context_collective(name, schema::CollectiveType::ALL_TO_ALL, bytes, out_.last_compute()));
}

LayerWriter::Node LayerWriter::mamba_forward(const MambaCosts& m, const LayerCosts& layer,
                                             Node input) {
  column_forward({m.in}, layer.shard_bytes, out_.compute(m.norm.forward, {input}));
  exchange_heads("heads.all_to_all", m.in_bytes);
  out_.compute(m.convolution.forward);
  kernels(m.scan);
  exchange_heads("output.all_to_all", m.scanned_bytes);
  out_.compute(m.gated_norm.forward);
  return add_residual(layer, row_forward(m.out, layer.whole_bytes));
}

LayerWriter::Node LayerWriter::mamba_backward(const MambaCosts& m, const LayerCosts& layer,
                                              Node gradient, bool with_weights) {
  row_backward(m.out, layer.shard_bytes, enter_block(layer, gradient), with_weights);
  out_.compute(m.gated_norm.backward);
  exchange_heads("output.all_to_all", m.scanned_bytes);
  kernels(m.scan_backward);
  const std::uint32_t scanned = out_.compute(m.convolution.backward);
  exchange_heads("heads.all_to_all", m.in_bytes);
  const Node reduced = column_backward({m.in}, layer.shard_bytes, scanned, with_weights);
  again(m.norm.forward);
  out_.compute(m.norm.backward, {reduced});
  return out_.compute(layer.residual.backward);
}

void LayerWriter::mamba_weights(const MambaCosts& m, const LayerCosts& layer) {
  out_.compute(m.out.weight_gradient);
  column_weights({m.in}, layer.shard_bytes);
}

}  // namespace exawarp::model
