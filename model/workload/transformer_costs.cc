// Costs of a transformer's operations; see transformer_costs.h. Sums are taken in 128 bits, in
// which no product of checked sizes overflows, and narrowed once.
#include "model/workload/transformer_costs.h"

#include "model/workload/validate.h"

namespace exawarp::model {
namespace {

__extension__ using Wide = unsigned __int128;

std::uint64_t narrow(Wide value) {
  if (value >= kSizeMax) {
    throw SpecProblem("model", "an operation takes 2^62 FLOPs or bytes, or more; expected less");
  }
  return static_cast<std::uint64_t>(value);
}

struct Sizes {
  Wide tokens, sequence, hidden, ffn, query, key, vocabulary, tensor, element, ffn_matrices;
  Wide local_tokens;  // T': tokens that a norm sees
};

std::int64_t head_dim(const ModelSpec& model) {
  return model.head_dim != 0 ? model.head_dim : model.hidden / model.heads;
}
std::int64_t kv_heads(const ModelSpec& model) {
  return model.kv_heads != 0 ? model.kv_heads : model.heads;
}

Sizes sizes_of(const TransformerSpec& spec) {
  const auto wide = [](std::int64_t value) { return static_cast<Wide>(value); };
  Sizes s{};
  s.sequence = wide(spec.sequence_length);
  s.tokens = wide(spec.micro_batch_sequences) * s.sequence;
  s.hidden = wide(spec.model.hidden);
  s.ffn = wide(spec.model.ffn);
  s.query = wide(spec.model.heads) * wide(head_dim(spec.model));
  s.key = wide(kv_heads(spec.model)) * wide(head_dim(spec.model));
  s.vocabulary = wide(spec.model.vocabulary);
  s.tensor = wide(spec.parallel.tensor);
  s.element = wide(bytes_of(spec.precision));
  s.ffn_matrices = spec.model.gated_ffn ? 2 : 1;
  s.local_tokens = spec.parallel.sequence_parallel ? s.tokens / s.tensor : s.tokens;
  return s;
}

// Element counts in, bytes out.
class Table {
 public:
  explicit Table(Wide element) : element_(element) {}

  [[nodiscard]] OperationCost row(schema::Operation operation, const char* name, Wide flops,
                                  Wide read, Wide written) const {
    return {operation, name, narrow(flops), narrow(read * element_), narrow(written * element_)};
  }

  struct Names {
    const char *forward, *input_gradient, *weight_gradient;
  };
  // (rows x inner) times (inner x columns).
  [[nodiscard]] GemmCosts gemm(const Names& names, Wide rows, Wide inner, Wide columns) const {
    const Wide flops = 2 * rows * inner * columns;
    const Wide in = rows * inner;
    const Wide weights = inner * columns;
    const Wide out = rows * columns;
    const auto kind = schema::Operation::GEMM;
    return {row(kind, names.forward, flops, in + weights, out),
            row(kind, names.input_gradient, flops, out + weights, in),
            row(kind, names.weight_gradient, flops, in + out, weights)};
  }

 private:
  Wide element_;
};

void set_block_costs(TransformerCosts& costs, const Sizes& s, const Table& table, bool causal) {
  using Op = schema::Operation;
  const Wide residual = s.local_tokens * s.hidden;
  const Wide query = s.tokens * s.query / s.tensor;
  const Wide key = s.tokens * s.key / s.tensor;
  const Wide inner = s.tokens * s.ffn / s.tensor;
  const Wide g = s.ffn_matrices;
  const Wide scores = s.sequence * query / (causal ? 2 : 1);
  costs.norm = {table.row(Op::NORM, "norm", 5 * residual, residual, residual),
                table.row(Op::NORM, "norm.backward", 5 * residual, 2 * residual, residual)};
  costs.rotary = {table.row(Op::ELEMENTWISE, "rotary", 0, query + key, query + key),
                  table.row(Op::ELEMENTWISE, "rotary.backward", 0, query + key, query + key)};
  costs.attention = {table.row(Op::ATTENTION, "attention", 4 * scores, query + 2 * key, query),
                     table.row(Op::ATTENTION, "attention.backward", 10 * scores,
                               3 * query + 2 * key, query + 2 * key)};
  costs.residual = {
      table.row(Op::ELEMENTWISE, "residual", residual, 2 * residual, residual),
      table.row(Op::ELEMENTWISE, "residual.backward", residual, 2 * residual, residual)};
  costs.activation = {
      table.row(Op::ELEMENTWISE, "activation", 5 * inner, g * inner, inner),
      table.row(Op::ELEMENTWISE, "activation.backward", 5 * inner, (g + 1) * inner, g * inner)};
  costs.qkv =
      table.gemm({"qkv", "qkv.dx", "qkv.dw"}, s.tokens, s.hidden, (s.query + 2 * s.key) / s.tensor);
  costs.projection = table.gemm({"projection", "projection.dx", "projection.dw"}, s.tokens,
                                s.query / s.tensor, s.hidden);
  costs.ffn_in =
      table.gemm({"ffn_in", "ffn_in.dx", "ffn_in.dw"}, s.tokens, s.hidden, g * s.ffn / s.tensor);
  costs.ffn_out =
      table.gemm({"ffn_out", "ffn_out.dx", "ffn_out.dw"}, s.tokens, s.ffn / s.tensor, s.hidden);
}

void set_edge_costs(TransformerCosts& costs, const Sizes& s, const Table& table) {
  using Op = schema::Operation;
  const Wide whole = s.tokens * s.hidden;
  const Wide logits = s.tokens * s.vocabulary / s.tensor;
  costs.embedding = {table.row(Op::EMBEDDING, "embedding", 0, whole, whole),
                     table.row(Op::EMBEDDING, "embedding.backward", whole, whole, whole)};
  costs.head =
      table.gemm({"head", "head.dx", "head.dw"}, s.tokens, s.hidden, s.vocabulary / s.tensor);
  costs.loss_maximum = table.row(Op::SOFTMAX, "loss.maximum", logits, logits, 0);
  costs.loss_maximum.bytes_written = narrow(4 * s.tokens);  // fp32, whatever the precision
  costs.loss_sum = table.row(Op::SOFTMAX, "loss.sum", 3 * logits, logits, 0);
  costs.loss_sum.bytes_written = narrow(8 * s.tokens);
  costs.loss_gradient = table.row(Op::SOFTMAX, "loss.gradient", 2 * logits, logits, logits);
}

}  // namespace

TransformerCosts transformer_costs(const TransformerSpec& spec) {
  const Sizes s = sizes_of(spec);
  const Table table(s.element);
  TransformerCosts costs;
  set_block_costs(costs, s, table, spec.model.causal);
  set_edge_costs(costs, s, table);
  const Wide whole = s.element * s.tokens * s.hidden;
  costs.whole_bytes = narrow(whole);
  costs.shard_bytes = narrow(whole / s.tensor);
  costs.pipeline_bytes = narrow(s.element * s.local_tokens * s.hidden);
  costs.loss_bytes = narrow(4 * s.tokens);
  const Wide matrices = s.hidden * (s.query + 2 * s.key) + s.query * s.hidden +
                        (s.ffn_matrices + 1) * s.hidden * s.ffn;
  costs.layer_parameters = narrow(matrices / s.tensor + 2 * s.hidden);
  costs.embedding_parameters = narrow(s.vocabulary * s.hidden / s.tensor);
  costs.final_norm_parameters = narrow(s.hidden);
  // Backward is twice forward: two products for each one, and 8 for attention's 4.
  costs.layer_model_flops =
      narrow(3 * (static_cast<Wide>(costs.qkv.forward.flops) + costs.projection.forward.flops +
                  costs.ffn_in.forward.flops + costs.ffn_out.forward.flops +
                  costs.attention.forward.flops));
  costs.head_model_flops = narrow(3 * static_cast<Wide>(costs.head.forward.flops));
  return costs;
}

std::uint64_t parameter_count(const ModelSpec& model) {
  const auto wide = [](std::int64_t value) { return static_cast<Wide>(value); };
  const Wide hidden = wide(model.hidden);
  const Wide query = wide(model.heads) * wide(head_dim(model));
  const Wide key = wide(kv_heads(model)) * wide(head_dim(model));
  const Wide layer = hidden * (2 * query + 2 * key) +
                     (model.gated_ffn ? 3 : 2) * hidden * wide(model.ffn) + 2 * hidden;
  const Wide tables = model.tied_embeddings ? 1 : 2;
  return narrow(wide(model.layers) * layer + tables * wide(model.vocabulary) * hidden + hidden);
}

}  // namespace exawarp::model
