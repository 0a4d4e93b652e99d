// Costs of state-space blocks; see transformer_mamba.h.
#include "model/generate/transformer_mamba.h"

#include "model/generate/transformer_attention.h"

namespace exawarp::model {
namespace {

constexpr Wide kScanModelFlops = 7;  // of a token, channel and element of its state

// Elements of a rank's tokens, all heads of its share together.
struct ScanSizes {
  Wide element, state, chunk;
  Wide inner;   // T d/t: of the scan's input, its output, the gate
  Wide shared;  // T b/t: of what heads of a group have in common, of its two kinds each
  Wide states;  // Z
  Wide scores;  // C
};

ScanSizes scan_sizes(const MambaSpec& mamba, const Sizes& s) {
  const MambaWidths widths = mamba_widths(mamba, s.tensor);
  ScanSizes z{};
  z.element = s.element;
  z.state = wide(mamba.state_dim);
  z.chunk = wide(mamba.chunk);
  z.inner = s.tokens * widths.channels;
  z.shared = s.tokens * widths.shared;
  z.states = (z.inner * z.state + z.chunk - 1) / z.chunk;
  z.scores = s.tokens * wide(mamba.groups) / s.tensor * z.chunk;
  return z;
}

OperationCost scan_kernel(const char* name, Wide flops, Wide read_bytes, Wide written_bytes) {
  return {.operation = Op::SCAN,
          .name = name,
          .flops = to_count(flops),
          .bytes_read = to_count(read_bytes),
          .bytes_written = to_count(written_bytes)};
}

// What the backward pass does again, too: states at the ends of chunks, passed on with so many
// bytes an element, and scores inside chunks.
std::vector<OperationCost> scan_beginning(const ScanSizes& z, Wide passed_bytes) {
  const Wide e = z.element;
  return {
      scan_kernel("scan.states", 2 * z.inner * z.state, e * (z.inner + z.shared),
                  kFp32Bytes * z.states),
      scan_kernel("scan.pass", 2 * z.states, kFp32Bytes * z.states, passed_bytes * z.states),
      scan_kernel("scan.scores", 2 * z.chunk * z.shared, 2 * e * z.shared, kFp32Bytes * z.scores)};
}

std::vector<OperationCost> scan_forward(const ScanSizes& z) {
  const Wide e = z.element;
  std::vector<OperationCost> kernels = scan_beginning(z, e);
  kernels.push_back(scan_kernel("scan.output", 2 * z.inner * z.state + z.chunk * z.inner,
                                e * (z.inner + z.shared + z.states) + kFp32Bytes * z.scores,
                                e * z.inner));
  return kernels;
}

std::vector<OperationCost> scan_backward(const ScanSizes& z, const OperationCost& convolution) {
  const Wide e = z.element;
  const Wide of_states = 2 * z.inner * z.state;
  const Wide of_chunk = z.chunk * z.inner;
  const Wide scores = kFp32Bytes * z.scores;
  const Wide states = kFp32Bytes * z.states;
  std::vector<OperationCost> kernels = scan_beginning(z, kFp32Bytes);
  kernels.insert(kernels.begin(), convolution);
  kernels.insert(
      kernels.end(),
      {scan_kernel("scan.states.back", of_states, e * (z.inner + z.shared), states),
       scan_kernel("scan.pass.back", 4 * z.states, 2 * states, 2 * e * z.states),
       scan_kernel("scan.input.back", of_states + of_chunk,
                   e * (2 * z.inner + z.shared + z.states) + scores, e * z.inner),
       scan_kernel("scan.b.back", of_states, e * (z.inner + z.states), kFp32Bytes * z.shared),
       scan_kernel("scan.c.back", of_states, e * (z.inner + z.states), kFp32Bytes * z.shared),
       scan_kernel("scan.scores.back", of_chunk, 2 * e * z.inner, scores),
       scan_kernel("scan.groups.back", 4 * z.chunk * z.shared,
                   2 * scores + 2 * (kFp32Bytes + e) * z.shared, 2 * e * z.shared),
       scan_kernel("scan.steps.back", of_chunk, 2 * e * z.inner + scores, 0)});
  return kernels;
}

}  // namespace

MambaWidths mamba_widths(const MambaSpec& mamba, Wide tensor) {
  const Wide heads = wide(mamba.heads) / tensor;
  return {.heads = heads,
          .channels = heads * wide(mamba.head_dim),
          .shared = wide(mamba.groups) / tensor * wide(mamba.state_dim)};
}

MambaState mamba_state(const MambaSpec& mamba) {
  const MambaWidths widths = mamba_widths(mamba, 1);
  return {.scan = widths.channels * wide(mamba.state_dim),
          .convolution = widths.seen() * wide(mamba.convolution - 1)};
}

MambaCosts mamba_block(const TransformerSpec& spec, const Sizes& s, const Table& table) {
  const MambaSpec& mamba = spec.model.mamba;
  const ScanSizes z = scan_sizes(mamba, s);
  const MambaWidths widths = mamba_widths(mamba, s.tensor);
  const Wide seen = s.tokens * widths.seen();
  const Wide flops = 2 * wide(mamba.convolution) * seen;
  MambaCosts m;
  m.norm = norm_of(s, table);
  m.in = table.gemm({"mamba_in", "mamba_in.dx", "mamba_in.dw"}, s.tokens, s.hidden, widths.in());
  m.convolution = {table.row(Op::CONVOLUTION, "convolution", flops, seen, seen),
                   table.row(Op::CONVOLUTION, "convolution.backward", 2 * flops, 2 * seen, seen)};
  m.scan = scan_forward(z);
  m.scan_backward = scan_backward(z, m.convolution.forward);
  m.gated_norm = {
      table.row(Op::NORM, "gated_norm", 8 * z.inner, 2 * z.inner, z.inner),
      table.row(Op::NORM, "gated_norm.backward", 16 * z.inner, 3 * z.inner, 2 * z.inner)};
  m.out = table.gemm({"mamba_out", "mamba_out.dx", "mamba_out.dw"}, s.tokens, widths.channels,
                     s.hidden);
  m.scan_model_flops = static_cast<double>(to_count(kScanModelFlops * z.inner * z.state));
  m.in_bytes = to_count(s.element * s.tokens * widths.in());
  m.scanned_bytes = to_count(s.element * z.inner);
  return m;
}

Wide mamba_parameters(const ModelSpec& model, Wide hidden, Wide tensor) {
  const MambaWidths widths = mamba_widths(model.mamba, tensor);
  const Wide of_heads = 3 * widths.heads;  // decay, step and skip
  // The convolution's with its bias, and the gated norm's.
  const Wide small = widths.seen() * wide(model.mamba.convolution + 1) + of_heads + widths.channels;
  return hidden * (widths.in() + widths.channels) + small;
}

Wide mamba_saved(const ModelSpec& model, const Sizes& s) {
  const MambaWidths widths = mamba_widths(model.mamba, s.tensor);
  return s.local_tokens * s.hidden + s.tokens * (widths.in() + 2 * widths.channels);
}

}  // namespace exawarp::model
