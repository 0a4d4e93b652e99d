#include "model/compute/stream_tables.h"

#include <algorithm>
#include <iterator>

namespace exawarp::model {
namespace {

constexpr const char* kElements[] = {"elements"};
constexpr const char* kRows[] = {"rows", "width"};
// Tokens that a product sums up, and elements of its result.
constexpr const char* kSummed[] = {"summed", "results"};

// By schema::StreamKernel.
constexpr StreamTable kTables[] = {{"rms_norm", kRows},
                                   {"rms_norm_backward", kRows},
                                   {"layer_norm", kRows},
                                   {"layer_norm_backward", kRows},
                                   {"add", kElements},
                                   {"accumulate", kElements},
                                   {"swiglu", kElements},
                                   {"swiglu_backward", kElements},
                                   {"gelu", kElements},
                                   {"gelu_backward", kElements},
                                   {"rotary", kElements},
                                   {"permute", kElements},
                                   {"cast_fp8", kElements},
                                   {"cast_transpose_fp8", kElements},
                                   {"scaled_cast_fp8", kElements},
                                   {"scaled_cast_transpose_fp8", kElements},
                                   {"transpose_fp8", kElements},
                                   {"product_add_bf16", kSummed},
                                   {"product_add_fp32", kSummed}};

}  // namespace

KernelTable::Point StreamTable::point(const StreamShape& shape) const {
  const auto rows = static_cast<double>(shape.rows), width = static_cast<double>(shape.width);
  return axes.size() == 1 ? KernelTable::Point{rows * width} : KernelTable::Point{rows, width};
}

const StreamTable* stream_table(schema::StreamKernel kernel) {
  const auto index = static_cast<std::size_t>(kernel);
  return index < std::size(kTables) ? &kTables[index] : nullptr;
}

const StreamTable* stream_table(std::string_view name) {
  const auto* found = std::ranges::find(kTables, name, &StreamTable::name);
  return found == std::end(kTables) ? nullptr : found;
}

}  // namespace exawarp::model
