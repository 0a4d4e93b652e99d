#include "io/formats/kernels/import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "io/formats/kernels/csv.h"
#include "io/formats/kernels/rows.h"
#include "io/study/suggest.h"
#include "model/compute/stream_tables.h"

namespace exawarp::io {
namespace {

// Of each median; files may hold millions of kernels.
constexpr std::size_t kShapesMax = 1u << 20;
constexpr double kLeastUs = 1e-6, kMostUs = 1e9;

// What the program's tables call a type; the names are those of this program, of PyTorch and of
// XLA. Empty: no table has it.
std::string_view table_type(std::string_view type) {
  struct Name {
    std::string_view given, table;
  };
  static constexpr Name kNames[] = {{"bf16", "bfloat16"},
                                    {"bfloat16", "bfloat16"},
                                    {"c10::bfloat16", "bfloat16"},
                                    {"fp16", "float16"},
                                    {"f16", "float16"},
                                    {"half", "float16"},
                                    {"float16", "float16"},
                                    {"c10::half", "float16"},
                                    {"fp32", "float32"},
                                    {"f32", "float32"},
                                    {"float", "float32"},
                                    {"float32", "float32"},
                                    {"tf32", "float32"},
                                    {"fp8", "fp8"},
                                    {"f8e4m3fn", "fp8"},
                                    {"c10::float8_e4m3fn", "fp8"},
                                    {"float8_e4m3fn", "fp8"},
                                    {"fp8_block", "fp8_block"},
                                    {"int8", "int8"},
                                    {"s8", "int8"},
                                    {"i8", "int8"},
                                    {"signed char", "int8"}};
  for (const Name& name : kNames) {
    if (name.given == type) return name.table;
  }
  return {};
}

double median(std::vector<double> all) {
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::ranges::nth_element(all, middle);
  return *middle;
}

model::KernelTable::Layout layout_of(const std::string& operation, const std::string& type) {
  if (operation.starts_with("gemm")) return {operation, type, {}, {"m", "n", "k"}};
  if (const model::StreamTable* stream = model::stream_table(operation)) {
    return {operation, type, {}, {stream->axes.begin(), stream->axes.end()}};
  }
  if (operation.starts_with("mla")) return {operation, type, {}, {"heads", "batch", "new_tokens"}};
  return {operation,
          type,
          {"head_dim", "window", "kv_heads"},
          {"heads", "batch", operation == "decode" ? "past_tokens" : "new_tokens"}};
}

std::vector<std::uint32_t> narrowed(const std::string& place,
                                    const std::vector<std::uint64_t>& sizes) {
  std::vector<std::uint32_t> out;
  for (const std::uint64_t size : sizes) {
    if (size > std::numeric_limits<std::uint32_t>::max()) {
      throw core::InputError(place, fmt::format("has a size of {}; expected less than 2^32", size));
    }
    out.push_back(static_cast<std::uint32_t>(size));
  }
  return out;
}

}  // namespace

std::string_view table_operation(std::string_view operation) {
  const std::string name = lower_case(operation);
  if (name.empty()) return "gemm";
  for (const char* product : {"gemm", "matmul", "mm", "dot", "dot_general", "linear"}) {
    if (name == product) return "gemm";
  }
  if (name == "gemm_converted") return "gemm_converted";
  if (const model::StreamTable* stream = model::stream_table(name)) return stream->name;
  if (name == "attention") return "prefill";
  if (name == "attention_backward") return "prefill_backward";
  for (const char* attention : {"prefill", "prefill_backward", "mla", "mla_backward", "decode"}) {
    if (name == attention) return attention;
  }
  return "";
}

void KernelRows::add(const std::string& place, const MeasuredKernel& kernel) {
  const std::string_view type = table_type(lower_case(kernel.type));
  if (type.empty()) {
    throw core::InputError(place, fmt::format("type: {}; expected bf16, fp16, fp32, fp8 or int8",
                                              in_quotes(kernel.type)));
  }
  if (!(kernel.us >= kLeastUs) || !(kernel.us < kMostUs)) {
    throw core::InputError(
        place, fmt::format("a time of {} us; expected {} to {} us", kernel.us, kLeastUs, kMostUs));
  }
  auto& shapes = times_[{std::string(table_operation(kernel.operation)), std::string(type)}];
  const Shape shape{narrowed(place, kernel.key), narrowed(place, kernel.sizes)};
  shapes[shape][kernel.name].push_back(kernel.us);
  if (shapes.size() > kShapesMax) {
    throw core::InputError(place, "is of one shape too many; expected at most 1,048,576");
  }
  ++import_.kernels;
}

KernelImport KernelRows::finish(const std::string& file) && {
  if (times_.empty()) {
    throw core::InputError(file, fmt::format("has no kernels for a table, but {} others; expected "
                                             "products, attention or kernels that move memory, "
                                             "whose shapes are known",
                                             import_.left_out.size()));
  }
  for (const auto& [table, shapes] : times_) {
    std::vector<model::KernelTable::Row> rows;
    for (const auto& [shape, names] : shapes) {
      for (const auto& [name, times] : names) {
        rows.push_back({shape.first, shape.second, median(times)});
      }
    }
    import_.tables.push_back(
        model::KernelTable::from_rows(file, layout_of(table.first, table.second), rows));
  }
  return std::move(import_);
}

double us_of_cycles(const std::string& place, double cycles, const KernelImportOptions& options) {
  if (options.clock_hz == 0) {
    throw core::InputError(place, "counts cycles; expected --clock, e.g. \"1410 MHz\"");
  }
  constexpr double kUsPerS = 1e6;
  return cycles * kUsPerS / static_cast<double>(options.clock_hz);
}

KernelImport import_kernels(const std::string& file, std::string_view text,
                            const KernelImportOptions& options) {
  KernelRows rows;
  switch (options.format) {
    case KernelFormat::csv:
      read_csv_kernels(file, text, options, rows);
      break;
    case KernelFormat::pytorch:
      read_pytorch_kernels(file, text, rows);
      break;
    case KernelFormat::cocossim:
      read_cocossim_kernels(file, text, options, rows);
      break;
    case KernelFormat::accel_sim:
      read_accel_sim_kernels(file, text, options, rows);
      break;
  }
  return std::move(rows).finish(file);
}

}  // namespace exawarp::io
