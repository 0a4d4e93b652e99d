#include "io/report/systolic_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/units.h"
#include "io/formats/kernels/scale_sim.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

using Json = nlohmann::ordered_json;

// One set of names for CSV and JSON.
Json fields_of(const SystolicRow& row) {
  Json out{{"layer", row.layer},
           {"m", row.shape.m},
           {"n", row.shape.n},
           {"k", row.shape.k},
           {"dataflow", short_name(row.array.dataflow)},
           {"rows", row.array.rows},
           {"cols", row.array.columns},
           {"folds", row.count.folds},
           {"total_cycles", row.count.cycles},
           {"util_pct", 100 * row.count.utilisation},
           {"mapping_eff_pct", 100 * row.count.mapping_efficiency},
           {"ifmap_sram_reads", row.count.input_reads},
           {"filter_sram_reads", row.count.weight_reads}};
  if (row.stall_cycles) out["stall_cycles"] = *row.stall_cycles;
  if (row.device) {
    out["device_cycles"] = row.device->cycles.array;
    out["device_stall_cycles"] = row.device->cycles.stall;
    out["device_fill_cycles"] = row.device->cycles.fill;
    out["device_us"] = row.device->us;
  }
  if (row.expected_cycles) out["expected_cycles"] = *row.expected_cycles;
  return out;
}

// In quotes where it has to be; a quote doubled.
std::string csv_field(const Json& value) {
  if (!value.is_string()) return value.dump();
  const auto text = value.get<std::string>();
  if (text.find_first_of(",\"#") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

}  // namespace

std::string systolic_text(const std::vector<SystolicRow>& rows) {
  std::string out = fmt::format("{:24} {:>8} {:>8} {:>8} {:>4} {:>9} {:>9} {:>15} {:>7}\n", "layer",
                                "m", "n", "k", "flow", "array", "folds", "cycles", "used %");
  std::size_t compared = 0, equal = 0;
  for (const SystolicRow& row : rows) {
    out += fmt::format("{:24} {:8} {:8} {:8} {:>4} {:>9} {:9} {:>15} {:7.2f}", row.layer,
                       row.shape.m, row.shape.n, row.shape.k, short_name(row.array.dataflow),
                       fmt::format("{}x{}", row.array.rows, row.array.columns), row.count.folds,
                       core::format_grouped(row.count.cycles), 100 * row.count.utilisation);
    if (row.stall_cycles) out += fmt::format("  stalls {:.0f}", *row.stall_cycles);
    if (row.device) out += fmt::format("  {:.3f} us", row.device->us);
    if (row.expected_cycles) {
      ++compared;
      const bool same = *row.expected_cycles == row.count.cycles;
      equal += same ? 1 : 0;
      if (!same) out += fmt::format("  expected {}", core::format_grouped(*row.expected_cycles));
    }
    out += "\n";
  }
  if (compared > 0) out += fmt::format("{} of {} rows as expected\n", equal, compared);
  return out;
}

std::string systolic_csv(const std::vector<SystolicRow>& rows) {
  std::vector<std::string> names;
  for (const SystolicRow& row : rows) {
    const Json fields = fields_of(row);
    for (const auto& [name, value] : fields.items()) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  std::string out = fmt::format("{}\n", fmt::join(names, ","));
  for (const SystolicRow& row : rows) {
    const Json fields = fields_of(row);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto at = fields.find(names[i]);
      out += (i == 0 ? "" : ",") + (at == fields.end() ? std::string() : csv_field(*at));
    }
    out += "\n";
  }
  return out;
}

std::string systolic_json(const std::vector<SystolicRow>& rows) {
  Json all = Json::array();
  for (const SystolicRow& row : rows) all.push_back(fields_of(row));
  return Json{{"layers", all}}.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace exawarp::io
