// One rule a family of operations (elementwise, dot, convolution, window, reduction, memory),
// found by name. A product beyond 2^60 is refused, so that no sum behind it can wrap.
#include "io/formats/stablehlo/costs.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>

namespace exawarp::io::stablehlo {
namespace {

constexpr std::array<std::string_view, 16> kFree = {
    "constant",     "iota",  "partition_id",         "replica_id",  "return",    "tuple",
    "get_tuple_element", "complex", "after_all", "create_token", "optimization_barrier",
    "async_done", "get_dimension_size", "send", "recv", "check.expect_eq"};
constexpr std::array<std::string_view, 47> kElementwise = {
    "abs", "add", "and", "atan2", "cbrt", "ceil", "clamp", "compare", "convert", "cosine",
    "count_leading_zeros", "divide", "exponential", "exponential_minus_one", "floor", "imag",
    "is_finite", "log", "log_plus_one", "logistic", "maximum", "minimum", "multiply", "negate",
    "not", "or", "popcnt", "real", "reduce_precision", "remainder",
    "round_nearest_afz", "round_nearest_even", "rsqrt", "select", "shift_left",
    "shift_right_arithmetic", "shift_right_logical", "sign", "sine", "sqrt", "subtract", "tan",
    "tanh", "uniform_quantize", "uniform_dequantize", "xor", "erf"};
constexpr std::array<std::string_view, 6> kData = {"transpose", "pad", "reverse",
                                                   "bitcast_convert", "copy", "bitcast"};
constexpr std::array<std::string_view, 2> kShape = {"broadcast_in_dim", "reshape"};

template <std::size_t n>
bool is_in(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

class Coster {
 public:
  Coster(const Operation& op, const Module& module, const Source& source)
      : op_(op), module_(module), source_(source) {}

  Cost cost() const;

 private:
  [[nodiscard]] const ValueType& operand(std::size_t i) const {
    if (i >= op_.operands.size())
      source_.fail(op_.offset, fmt::format("{} has {} operands; expected at least {}", op_.name,
                                           op_.operands.size(), i + 1));
    return module_.types[op_.operands[i]];
  }
  [[nodiscard]] const TensorType& tensor(const ValueType& type) const {
    if (type.empty())
      source_.fail(op_.offset, fmt::format("{} of something that is no tensor", op_.name));
    return type[0];
  }
  [[nodiscard]] const ValueType& result() const {
    if (op_.results.empty()) source_.fail(op_.offset, fmt::format("{} has no result", op_.name));
    return module_.types[op_.results[0]];
  }
  [[nodiscard]] std::uint64_t in_bytes() const {
    std::uint64_t sum = 0;
    for (const ValueId id : op_.operands) sum += bytes_of(module_.types[id]);
    return sum;
  }
  [[nodiscard]] std::uint64_t out_bytes() const {
    std::uint64_t sum = 0;
    for (const ValueId id : op_.results) sum += bytes_of(module_.types[id]);
    return sum;
  }
  [[nodiscard]] std::uint64_t product(std::initializer_list<std::uint64_t> factors) const;
  [[nodiscard]] Cost dot() const;
  [[nodiscard]] Cost convolution() const;
  [[nodiscard]] Cost window(std::uint64_t each, std::size_t operands) const;
  [[nodiscard]] Cost reduction() const;
  [[nodiscard]] Cost sort() const;
  [[nodiscard]] Cost custom_call() const;
  [[nodiscard]] Cost memory() const;

  const Operation& op_;
  const Module& module_;
  const Source& source_;
};

std::uint64_t Coster::product(std::initializer_list<std::uint64_t> factors) const {
  __extension__ typedef unsigned __int128 Wide;
  Wide value = 1;
  for (const std::uint64_t factor : factors) {
    value *= factor;
    if (value >> 60 != 0)
      source_.fail(op_.offset, fmt::format("{} needs more than 2^60 FLOPs", op_.name));
  }
  return static_cast<std::uint64_t>(value);
}

// 2 * out * product of the lhs contracting dimensions.
Cost Coster::dot() const {
  const TensorType& lhs = tensor(operand(0));
  std::vector<std::int64_t> contracting;
  const std::string_view pretty = op_.attribute("contracting_dims");
  const std::string_view generic = op_.attribute("dot_dimension_numbers");
  if (!pretty.empty()) {
    contracting = integers_in(pretty.substr(0, pretty.find(']')));
  } else if (const std::size_t at = generic.find("lhs_contracting_dimensions");
             at != std::string_view::npos) {
    contracting = integers_in(generic.substr(at, generic.find(']', at) - at));
  } else if (op_.name == "dot") {
    contracting.push_back(static_cast<std::int64_t>(lhs.dims.size()) - 1);
  }
  std::uint64_t depth = 1;
  for (const std::int64_t dim : contracting) {
    if (dim < 0 || static_cast<std::size_t>(dim) >= lhs.dims.size())
      source_.fail(op_.offset, fmt::format("contracting dimension {}; the left operand has {}", dim,
                                           lhs.dims.size()));
    depth = product({depth, lhs.dims[static_cast<std::size_t>(dim)]});
  }
  return {CostClass::matrix, product({2, elements_of(result()), depth}), in_bytes(), out_bytes()};
}

// 2 * out * kernel positions * kernel input features; the kernel's layout is the middle bracket of
// [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f].
Cost Coster::convolution() const {
  std::string_view layout = op_.attribute("dim_numbers");
  if (layout.empty()) layout = op_.attribute("dimension_numbers");
  const std::size_t x = layout.find("x[");
  const TensorType& kernel = tensor(operand(1));
  const std::size_t end = x == std::string_view::npos ? x : layout.find(']', x);
  if (end == std::string_view::npos)
    source_.fail(op_.offset, "a convolution without dimension numbers; expected "
                             "dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]");
  const std::string_view names = layout.substr(x + 2, end - x - 2);
  std::size_t dim = 0;
  std::uint64_t depth = 1;
  for (const char c : names) {
    if (c == ',') ++dim;
    const bool counts = (c >= '0' && c <= '9') || c == 'i';
    if (!counts) continue;
    if (dim >= kernel.dims.size())
      source_.fail(op_.offset, fmt::format("the kernel has {} dimensions, its layout more",
                                           kernel.dims.size()));
    depth = product({depth, kernel.dims[dim]});
  }
  return {CostClass::convolution, product({2, elements_of(result()), depth}), in_bytes(),
          out_bytes()};
}

// (window - 1) * each; `operands` are read.
Cost Coster::window(std::uint64_t each, std::size_t operands) const {
  std::uint64_t positions = 1;
  for (const std::int64_t size : integers_in(op_.attribute("window_dimensions"))) {
    if (size < 1) source_.fail(op_.offset, "a window dimension below 1");
    positions = product({positions, static_cast<std::uint64_t>(size)});
  }
  std::uint64_t read = 0;
  for (std::size_t i = 0; i < operands; ++i) read += bytes_of(operand(i));
  return {CostClass::data, product({positions - 1, each}), read, out_bytes()};
}

// (product of the reduced dimensions - 1) * out = in - out, where out is not empty.
Cost Coster::reduction() const {
  const std::uint64_t in = elements_of(operand(0));
  const std::uint64_t out = elements_of(result());
  return {CostClass::reduction, in > out ? in - out : 0, bytes_of(operand(0)), bytes_of(result())};
}

Cost Coster::sort() const {
  const std::uint64_t passes = (tensor(operand(0)).width_bits() + 7) / 8;
  return {CostClass::data, 0, product({in_bytes(), passes}), product({out_bytes(), passes})};
}

Cost Coster::custom_call() const {
  if (op_.callee == "TopK" || op_.callee == "mhlo.topk")
    return {CostClass::data, 0, in_bytes(), out_bytes()};
  const bool has_layout =
      !op_.attribute("dim_numbers").empty() || !op_.attribute("dimension_numbers").empty();
  if (has_layout && op_.callee.find("conv") != std::string_view::npos) return convolution();
  return {};
}

// What touches a part of its operands.
Cost Coster::memory() const {
  if (op_.name == "slice" || op_.name == "dynamic_slice")
    return {CostClass::data, 0, out_bytes(), out_bytes()};
  if (op_.name == "dynamic_update_slice")
    return {CostClass::data, 0, bytes_of(operand(0)) + bytes_of(operand(1)), out_bytes()};
  if (op_.name == "gather" || op_.name == "dynamic_gather" || op_.name == "scatter")
    return {CostClass::data, 0, bytes_of(operand(0)) + bytes_of(operand(1)), out_bytes()};
  if (op_.name == "concatenate") return {CostClass::data, 0, in_bytes(), out_bytes()};
  if (is_in(kShape, op_.name))
    return {CostClass::shape, 0, bytes_of(operand(0)), out_bytes()};
  if (is_in(kData, op_.name)) return {CostClass::data, 0, bytes_of(operand(0)), out_bytes()};
  return {};
}

Cost Coster::cost() const {
  const std::string_view name = op_.name;
  if (is_in(kFree, name)) return {CostClass::free, 0, 0, 0};
  // An exponent is next to always a constant that the kernel holds.
  if (name == "power")
    return {CostClass::elementwise, elements_of(result()), bytes_of(operand(0)), out_bytes()};
  if (is_in(kElementwise, name))
    return {CostClass::elementwise, elements_of(result()), in_bytes(), out_bytes()};
  if (name == "dot_general" || name == "dot") return dot();
  if (name == "convolution") return convolution();
  if (name == "reduce") return reduction();
  if (name == "reduce_window") return window(elements_of(result()), 2);
  if (name == "select_and_scatter") return window(elements_of(operand(1)), 2);
  if (name == "sort") return sort();
  if (name == "custom_call") return custom_call();
  return memory();
}

}  // namespace

std::uint64_t bytes_of(const ValueType& type) {
  std::uint64_t sum = 0;
  for (const TensorType& tensor : type) sum += tensor.bytes();
  return sum;
}

std::uint64_t elements_of(const ValueType& type) {
  return type.empty() ? 0 : type[0].elements();
}

Cost cost_of(const Operation& op, const Module& module, const Source& source) {
  return Coster(op, module, source).cost();
}

}  // namespace exawarp::io::stablehlo
