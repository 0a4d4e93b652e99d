// Kernels as a CSV with a column for each size: what any tool can be made to write.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "core/error.h"
#include "io/formats/kernels/csv.h"
#include "io/formats/kernels/rows.h"
#include "io/study/suggest.h"
#include "model/compute/stream_tables.h"

namespace exawarp::io {
namespace {

using Column = std::optional<std::size_t>;

struct TimeColumn {
  const char* name;
  double us;
};
constexpr TimeColumn kTimes[] = {{"time_us", 1},   {"us", 1},   {"time_ns", 1e-3}, {"ns", 1e-3},
                                 {"time_ms", 1e3}, {"ms", 1e3}, {"time_s", 1e6}};

// What a row computes: its operation, type and sizes.
class ShapeColumns {
 public:
  ShapeColumns(const CsvTable& table, const KernelImportOptions& options)
      : table_(table), type_(options.type) {
    operation_ = table.find({"operation", "op"});
    given_type_ = table.find({"type", "dtype", "data_type"});
  }
  [[nodiscard]] std::string operation(const CsvRow& row) const { return text(row, operation_); }

  [[nodiscard]] MeasuredKernel read(const CsvRow& row) const {
    MeasuredKernel out;
    out.operation = operation(row);
    out.type = text(row, given_type_);
    if (out.type.empty()) out.type = type_;
    const std::string_view table = table_operation(out.operation);
    if (table.starts_with("gemm")) {
      out.sizes = {row.count(need({"m"})), row.count(need({"n"})), row.count(need({"k"}))};
      const std::uint64_t batch = count_or(row, {"batch", "b"}, 1);
      if (__builtin_mul_overflow(out.sizes[0], batch, out.sizes.data())) {
        row.fail(need({"batch", "b"}), "sizes whose product is below 2^64");
      }
      return out;
    }
    if (const model::StreamTable* stream = model::stream_table(table)) {
      out.sizes = {row.count(need({"rows"})), row.count(need({"width"}))};
      if (stream->axes.size() == 2) return out;
      if (__builtin_mul_overflow(out.sizes[0], out.sizes[1], out.sizes.data())) {
        row.fail(need({"width"}), "sizes whose product is below 2^64");
      }
      out.sizes.pop_back();
      return out;
    }
    const std::uint64_t heads = row.count(need({"heads", "h"}));
    const std::uint64_t own = count_or(row, {"kv_heads"}, heads);
    out.sizes = {heads, count_or(row, {"batch", "b"}, 1),
                 row.count(table == "decode" ? need({"past_tokens", "s", "seq"})
                                             : need({"new_tokens", "s", "seq"}))};
    if (table.starts_with("mla")) return out;
    out.key = {row.count(need({"head_dim", "d"})), count_or(row, {"window"}, 0),
               own == heads ? 0 : own};
    return out;
  }

 private:
  static std::string text(const CsvRow& row, Column column) {
    return column ? row.at(*column) : std::string();
  }
  [[nodiscard]] std::size_t need(std::initializer_list<std::string_view> names) const {
    return table_.require(names);
  }
  [[nodiscard]] std::uint64_t count_or(const CsvRow& row,
                                       std::initializer_list<std::string_view> names,
                                       std::uint64_t otherwise) const {
    const Column column = table_.find(names);
    if (!column || !row.has(*column) || (otherwise == 0 && row.at(*column) == "0")) {
      return otherwise;
    }
    return row.count(*column);
  }

  const CsvTable& table_;
  std::string type_;
  Column operation_, given_type_;
};

class CsvKernels {
 public:
  CsvKernels(const CsvTable& table, const KernelImportOptions& options)
      : options_(options), shapes_(table, options) {
    name_ = table.find({"name", "kernel"});
    device_ = table.find({"device"});
    cycles_ = table.find({"cycles"});
    for (const TimeColumn& time : kTimes) {
      time_ = table.find({time.name});
      us_ = time.us;
      if (time_) return;
    }
    if (!cycles_) {
      throw core::InputError(table.header_place(),
                             "has no column of times; expected time_us, time_ns, time_ms, time_s "
                             "or cycles");
    }
  }

  void read(const CsvRow& row, KernelRows& rows) {
    if (!is_of_device(row)) return;
    if (table_operation(shapes_.operation(row)).empty()) {
      return rows.leave_out(shapes_.operation(row));
    }
    MeasuredKernel kernel = shapes_.read(row);
    if (name_) kernel.name = row.at(*name_);
    kernel.us = time_ ? row.positive(*time_) * us_
                      : us_of_cycles(row.place(), row.positive(*cycles_), options_);
    rows.add(row.place(), kernel);
  }

 private:
  bool is_of_device(const CsvRow& row) {
    if (!device_) return true;
    const std::string& device = row.at(*device_);
    if (!options_.device.empty()) return device == options_.device;
    if (!only_device_) only_device_ = device;
    if (device != *only_device_) {
      row.fail(*device_,
               fmt::format("{} as before, or --device NAME to choose", in_quotes(*only_device_)));
    }
    return true;
  }

  const KernelImportOptions& options_;
  ShapeColumns shapes_;
  Column name_, device_, cycles_, time_;
  double us_ = 1;
  std::optional<std::string> only_device_;
};

std::string_view value_of(std::string_view line, std::string_view key) {
  if (!line.starts_with(key)) return {};
  line.remove_prefix(key.size());
  const std::size_t equals = line.find_first_not_of(" \t");
  if (equals == std::string_view::npos || line[equals] != '=') return {};
  line.remove_prefix(equals + 1);
  const std::size_t from = line.find_first_not_of(" \t\r");
  if (from == std::string_view::npos) return {};
  return line.substr(from, line.find_last_not_of(" \t\r") - from + 1);
}

}  // namespace

void read_csv_kernels(const std::string& file, std::string_view text,
                      const KernelImportOptions& options, KernelRows& rows) {
  const CsvTable table(file, text);
  CsvKernels kernels(table, options);
  table.each_row([&](const CsvRow& row) { kernels.read(row, rows); });
}

// The simulator's log: after each kernel its name, its number and its cycles. What it computed
// stands in the file of shapes, by number or by name.
void read_accel_sim_kernels(const std::string& file, std::string_view text,
                            const KernelImportOptions& options, KernelRows& rows) {
  std::map<std::string, MeasuredKernel, std::less<>> known;
  const CsvTable table(options.shapes_file, options.shapes);
  const ShapeColumns columns(table, options);
  const std::size_t label = table.require({"uid", "name", "kernel"});
  table.each_row([&](const CsvRow& row) {
    if (table_operation(columns.operation(row)).empty()) return;
    known[row.at(label)] = columns.read(row);
  });
  std::string name, uid;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (const auto value = value_of(line, "kernel_name"); !value.empty()) name = value;
    if (const auto value = value_of(line, "kernel_launch_uid"); !value.empty()) uid = value;
    const auto cycles = value_of(line, "gpu_sim_cycle");
    if (cycles.empty()) continue;
    const std::string place = fmt::format("{}:{}", file, number);
    auto at = known.find(uid);
    if (at == known.end()) at = known.find(name);
    if (at == known.end()) {
      rows.leave_out(name);
      continue;
    }
    const std::vector<std::string> field{"gpu_sim_cycle"};
    MeasuredKernel kernel = at->second;
    kernel.name = name;
    kernel.us =
        us_of_cycles(place, CsvRow(field, place, {std::string(cycles)}).positive(0), options);
    rows.add(place, kernel);
  }
}

}  // namespace exawarp::io
