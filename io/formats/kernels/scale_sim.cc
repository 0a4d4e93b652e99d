#include "io/formats/kernels/scale_sim.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "core/error.h"
#include "io/formats/kernels/csv.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

using model::Dataflow;

constexpr std::array<core::Named<Dataflow>, 3> kShortNames{{{"os", Dataflow::output_stationary},
                                                            {"ws", Dataflow::weight_stationary},
                                                            {"is", Dataflow::input_stationary}}};
constexpr const char* kDataflows = "os, ws or is";
constexpr std::size_t kLayersMax = 1u << 20;

std::optional<std::uint64_t> optional_count(const CsvRow& row, std::optional<std::size_t> column) {
  if (!column || !row.has(*column)) return std::nullopt;
  return row.count(*column);
}

class ProductReader {
 public:
  explicit ProductReader(const CsvTable& table)
      : m_(table.require({"m"})), n_(table.require({"n"})), k_(table.require({"k"})) {
    name_ = table.find({"layer", "layer_name", "name"});
    dataflow_ = table.find({"dataflow"});
    rows_ = table.find({"rows"});
    columns_ = table.find({"cols", "columns"});
    cycles_ = table.find({"total_cycles"});
    stalls_ = table.find({"stall_cycles"});
  }
  [[nodiscard]] SystolicLayer read(const CsvRow& row) const {
    SystolicLayer out{.place = row.place(),
                      .name = name_ ? row.at(*name_) : "",
                      .shape = {.m = row.count(m_), .n = row.count(n_), .k = row.count(k_)},
                      .dataflow = {},
                      .rows = side(row, rows_),
                      .columns = side(row, columns_),
                      .cycles = optional_count(row, cycles_)};
    if (dataflow_ && row.has(*dataflow_)) {
      out.dataflow = dataflow_named(row.at(*dataflow_));
      if (!out.dataflow) row.fail(*dataflow_, kDataflows);
    }
    if (out.cycles && stalls_ && row.has(*stalls_) && row.at(*stalls_) != "0") {
      const std::uint64_t stalls = row.count(*stalls_);
      if (stalls > *out.cycles) row.fail(*stalls_, "no more than total_cycles");
      *out.cycles -= stalls;
    }
    return out;
  }

 private:
  static std::optional<std::uint64_t> side(const CsvRow& row, std::optional<std::size_t> column) {
    const auto value = optional_count(row, column);
    if (value && *value > model::kSystolicSideMax) row.fail(*column, "at most 65,536");
    return value;
  }
  std::size_t m_, n_, k_;
  std::optional<std::size_t> name_, dataflow_, rows_, columns_, cycles_, stalls_;
};

std::uint64_t outputs(std::uint64_t input, std::uint64_t filter, std::uint64_t stride) {
  return (input - filter) / stride + ((input - filter) % stride == 0 ? 0 : 1) + 1;
}

// By position: names differ from file to file.
void add_convolution(const CsvRow& row, std::vector<SystolicLayer>& out) {
  enum Field : std::size_t {
    name,
    height,
    width,
    filter_height,
    filter_width,
    channels,
    filters,
    stride,
    stride_width
  };
  const auto fit = [&](Field input, Field filter) {
    if (row.count(filter) > row.count(input)) row.fail(filter, "no more than of the input");
  };
  fit(height, filter_height);
  fit(width, filter_width);
  const bool own_width =
      row.has(stride_width) && row.at(stride_width).find(':') == std::string::npos;
  const std::uint64_t down =
      outputs(row.count(height), row.count(filter_height), row.count(stride));
  const std::uint64_t across = outputs(row.count(width), row.count(filter_width),
                                       row.count(own_width ? stride_width : stride));
  if (down > kCsvCountMax / across) row.fail(height, "fewer than 2^40 outputs");
  const bool depthwise = row.at(name).find("DP") != std::string::npos;
  const std::uint64_t copies = depthwise ? row.count(channels) : 1;
  if (copies > kLayersMax - out.size()) row.fail(channels, "at most 1,048,576 layers");
  SystolicLayer layer{.place = row.place(),
                      .name = row.at(name),
                      .shape = model::product_of({.output_pixels = down * across,
                                                  .filters = row.count(filters),
                                                  .kernel_height = row.count(filter_height),
                                                  .kernel_width = row.count(filter_width),
                                                  .channels = depthwise ? 1 : row.count(channels)}),
                      .dataflow = {},
                      .rows = {},
                      .columns = {},
                      .cycles = {}};
  for (std::uint64_t i = 0; i < copies; ++i) {
    if (depthwise) layer.name = fmt::format("{}Channel_{}", row.at(name), i);
    out.push_back(layer);
  }
}

std::string_view between_blanks(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t\r");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r") - from + 1);
}

// "Key : value" by the key in small letters, with its line.
struct ConfigValue {
  std::string text;
  std::size_t line = 0;
};
std::map<std::string, ConfigValue> values_of(std::string_view text) {
  std::map<std::string, ConfigValue> out;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t colon = line.find_first_of(":=");
    const std::string_view start = between_blanks(line);
    if (colon == std::string_view::npos || start.front() == '#' || start.front() == ';') continue;
    out[lower_case(between_blanks(line.substr(0, colon)))] = {
        std::string(between_blanks(line.substr(colon + 1))), number};
  }
  return out;
}

class ConfigReader {
 public:
  ConfigReader(const std::string& file, std::string_view text)
      : file_(file), values_(values_of(text)) {}

  ScaleSimConfig read() const {
    ScaleSimConfig out;
    out.array.rows = count("ArrayHeight", model::kSystolicSideMax);
    out.array.columns = count("ArrayWidth", model::kSystolicSideMax);
    const auto dataflow = dataflow_named(value("Dataflow").text);
    if (!dataflow) fail("Dataflow", kDataflows);
    out.array.dataflow = *dataflow;
    if (has("SparsitySupport") && lower_case(value("SparsitySupport").text) == "true") {
      fail("SparsitySupport", "false: sparse layers are not counted here");
    }
    if (!has("InterfaceBandwidth") || lower_case(value("InterfaceBandwidth").text) != "user")
      return out;
    out.bytes_per_cycle = static_cast<double>(count("Bandwidth", kCsvCountMax));
    for (const char* key : {"IfmapSramSzkB", "FilterSramSzkB", "OfmapSramSzkB"}) {
      out.sram_bytes += 1024 * count(key, kCsvCountMax);
    }
    return out;
  }

 private:
  [[nodiscard]] bool has(const char* key) const { return values_.contains(lower_case(key)); }
  [[nodiscard]] const ConfigValue& value(const char* key) const {
    const auto at = values_.find(lower_case(key));
    if (at == values_.end()) {
      throw core::InputError(file_,
                             fmt::format("has no \"{}\"; expected a line \"{} : ...\"", key, key));
    }
    return at->second;
  }
  [[noreturn]] void fail(const char* key, std::string_view expected) const {
    const ConfigValue& at = value(key);
    throw core::InputError(fmt::format("{}:{}", file_, at.line),
                           fmt::format("{}: {}; expected {}", key, in_quotes(at.text), expected));
  }
  [[nodiscard]] std::uint64_t count(const char* key, std::uint64_t most) const {
    const std::string& text = value(key).text;
    std::uint64_t out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc{} || end != text.data() + text.size() || out == 0 || out > most) {
      fail(key, fmt::format("a whole number from 1 to {}", most));
    }
    return out;
  }

  const std::string& file_;
  std::map<std::string, ConfigValue> values_;
};

}  // namespace

std::optional<Dataflow> dataflow_named(std::string_view name) {
  for (const auto& [text, value] : kShortNames) {
    if (lower_case(name) == text) return value;
  }
  return core::value_of<Dataflow>(lower_case(name));
}

std::string_view short_name(Dataflow dataflow) {
  return core::name_in<Dataflow>(kShortNames, dataflow);
}

std::vector<SystolicLayer> read_topology(const std::string& file, std::string_view text) {
  const CsvTable table(file, text);
  std::vector<SystolicLayer> out;
  if (table.find({"m"}) || table.find({"n"}) || table.find({"k"})) {
    const ProductReader reader(table);
    table.each_row([&](const CsvRow& row) {
      if (out.size() == kLayersMax) row.fail(0, "at most 1,048,576 layers");
      out.push_back(reader.read(row));
    });
    return out;
  }
  if (table.columns().size() < 8) {
    throw core::InputError(
        table.header_place(),
        fmt::format("has {} columns, and no M, N and K; expected Layer,M,N,K or a layer's name, "
                    "height and width of input and filter, channels, filters and stride",
                    table.columns().size()));
  }
  table.each_row([&](const CsvRow& row) { add_convolution(row, out); });
  return out;
}

ScaleSimConfig read_scale_sim_config(const std::string& file, std::string_view text) {
  return ConfigReader(file, text).read();
}

}  // namespace exawarp::io
