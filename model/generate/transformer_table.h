// Inside the transformer generator: sizes of a stack of blocks on one rank, and costs of single
// operations from them. Sums are taken in 128 bits, in which no product of checked sizes overflows,
// and narrowed once.
#pragma once

#include <cstdint>
#include <optional>

#include "model/generate/transformer_costs.h"
#include "model/workload/validate.h"

namespace exawarp::model {

__extension__ using Wide = unsigned __int128;
using Op = schema::Operation;
constexpr int kFp32Bytes = 4;

// Throws SpecProblem where an operation is too large to write down.
inline std::uint64_t to_count(Wide value) {
  if (value >= kSizeMax) {
    throw SpecProblem("model", "an operation takes 2^62 FLOPs or bytes, or more; expected less");
  }
  return static_cast<std::uint64_t>(value);
}

inline Wide wide(std::int64_t value) { return static_cast<Wide>(value); }

// Sizes of one stack of blocks (a T5 has two), on one rank.
struct Sizes {
  Wide tokens, sequence, hidden, ffn, heads, vocabulary, tensor, context, element, ffn_matrices;
  Wide query, key, query_value, value;  // widths of all heads: scores' operands, and values
  Wide local_tokens;                    // T': tokens that a norm sees
  Wide micro_batch;
};

inline Sizes sizes_of(const TransformerSpec& spec, std::int64_t sequence) {
  const ModelSpec& model = spec.model;
  Sizes s{};
  s.sequence = wide(sequence);
  s.tensor = wide(spec.parallel.tensor);
  s.context = wide(spec.parallel.context);
  s.micro_batch = wide(spec.micro_batch_sequences);
  s.tokens = s.micro_batch * s.sequence / s.context;
  s.hidden = wide(model.hidden);
  s.ffn = wide(model.ffn);
  s.heads = wide(model.heads);
  s.vocabulary = wide(model.vocabulary);
  s.element = wide(bytes_of(spec.precision));
  s.ffn_matrices = model.gated_ffn ? 2 : 1;
  s.local_tokens = spec.parallel.sequence_parallel ? s.tokens / s.tensor : s.tokens;
  if (model.mla.key_value_rank != 0) {
    s.query = s.key = s.heads * wide(model.mla.nope_dim + model.mla.rope_dim);
    s.query_value = s.value = s.heads * wide(model.mla.value_dim);
  } else {
    s.query = s.query_value = s.heads * wide(head_dim_of(model));
    s.key = s.value = wide(kv_heads_of(model)) * wide(head_dim_of(model));
  }
  return s;
}

// Element counts in, bytes out.
class Table {
 public:
  explicit Table(const TransformerSpec& spec)
      : element_(wide(bytes_of(spec.precision))), operand_sixteenths_(16 * element_) {
    if (spec.gemm_precision == schema::DataType::NONE) return;
    operand_type_ = spec.gemm_precision;
    const bool four_bits = operand_type_ == schema::DataType::NVFP4;
    operand_sixteenths_ = four_bits ? 9 : 16 * wide(bytes_of(operand_type_));
    if ((operand_type_ != schema::DataType::FP8 && !four_bits) || !spec.kernels.casts) return;
    casts_ = true;
    copies_ = spec.kernels.transposes ? 2 : 1;
    cast_reads_ = four_bits || spec.kernels.current_scaling ? 2 : 1;
  }

  [[nodiscard]] OperationCost row(Op operation, const char* name, Wide flops, Wide read,
                                  Wide written, Shape shape = {}) const {
    return {.operation = operation,
            .name = name,
            .flops = to_count(flops),
            .bytes_read = to_count(read * element_),
            .bytes_written = to_count(written * element_),
            .shape = shape};
  }
  // Unknown where it is nothing, or more than a shape can say.
  static Shape stream(schema::StreamKernel kernel, Wide rows, Wide width) {
    if (rows == 0 || width == 0 || rows >= kShapeSizeMax || width >= kShapeSizeMax) return {};
    return StreamShape{.kernel = kernel, .rows = to_count(rows), .width = to_count(width)};
  }
  // Of whole bytes: dropout's masks beside elements.
  [[nodiscard]] OperationCost with_masks(OperationCost cost, Wide read, Wide written) const {
    cost.bytes_read = to_count(cost.bytes_read + read);
    cost.bytes_written = to_count(cost.bytes_written + written);
    cost.shape = {};  // another kernel
    return cost;
  }
  // To the operands' precision.
  [[nodiscard]] std::optional<OperationCost> cast(const char* name, Wide elements) const {
    if (!casts_) return {};
    return OperationCost{.operation = Op::ELEMENTWISE,
                         .name = name,
                         .flops = to_count(elements),
                         .bytes_read = to_count(elements * element_ * cast_reads_),
                         .bytes_written = to_count(operands(elements * copies_)),
                         .shape = cast_shape(elements)};
  }

  struct Names {
    const char *forward, *input_gradient, *weight_gradient;
  };
  // (rows x inner) times (inner x columns), of `weights` matrices that share the rows.
  [[nodiscard]] GemmCosts gemm(const Names& names, Wide rows, Wide inner, Wide columns,
                               Wide matrices = 1) const {
    const Wide flops = 2 * rows * inner * columns;
    const Wide in = rows * inner;
    const Wide weights = matrices * inner * columns;
    const Wide out = rows * columns;
    GemmCosts costs{product(names.forward, flops, in + weights, out),
                    product(names.input_gradient, flops, out + weights, in),
                    product(names.weight_gradient, flops, in + out, weights), cast("cast", in),
                    cast("cast.backward", out)};
    if (rows == 0) return costs;
    costs.forward.shape = gemm_shape(rows, columns, inner);
    costs.input_gradient.shape = gemm_shape(rows, inner, columns);
    costs.weight_gradient.shape = gemm_shape(inner, columns, rows);
    return costs;
  }
  // The same, whatever the precision of the products of layers.
  [[nodiscard]] GemmCosts edge_gemm(const Names& names, Wide rows, Wide inner, Wide columns) const {
    Table plain = *this;
    plain.operand_sixteenths_ = 16 * element_;
    plain.operand_type_ = schema::DataType::NONE;
    plain.casts_ = false;
    return plain.gemm(names, rows, inner, columns);
  }

 private:
  [[nodiscard]] Shape cast_shape(Wide elements) const {
    using Kernel = schema::StreamKernel;
    if (operand_type_ != schema::DataType::FP8) return {};
    const bool scales = cast_reads_ == 2;
    const bool turns = copies_ == 2;
    const Kernel once = turns ? Kernel::CAST_TRANSPOSE_FP8 : Kernel::CAST_FP8;
    const Kernel twice = turns ? Kernel::SCALED_CAST_TRANSPOSE_FP8 : Kernel::SCALED_CAST_FP8;
    return stream(scales ? twice : once, 1, elements);
  }
  [[nodiscard]] OperationCost product(const char* name, Wide flops, Wide read, Wide written) const {
    return {
        Op::GEMM,     name, to_count(flops), to_count(operands(read)), to_count(written * element_),
        operand_type_};
  }
  [[nodiscard]] Shape gemm_shape(Wide m, Wide n, Wide k) const {
    return GemmShape{.m = to_count(m), .n = to_count(n), .k = to_count(k), .converted = casts_};
  }
  // Bytes of so many operands of products, in whole ones.
  [[nodiscard]] Wide operands(Wide elements) const {
    return (elements * operand_sixteenths_ + 15) / 16;
  }
  Wide element_, operand_sixteenths_;  // bytes, and sixteenths of a byte, of an element
  schema::DataType operand_type_ = schema::DataType::NONE;
  bool casts_ = false;
  Wide copies_ = 1;
  Wide cast_reads_ = 1;  // 2: once before, for the tensor's maximum
};

}  // namespace exawarp::model
