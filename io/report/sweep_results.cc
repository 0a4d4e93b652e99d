#include "io/report/sweep_results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/error.h"
#include "io/study/numbers.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

using Json = nlohmann::ordered_json;

std::optional<double> largest(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return a ? a : b;
  return std::max(*a, *b);
}

std::optional<double> number_at(const Json& json, std::string_view path) {
  if (path.empty()) return json.is_number() ? json.get<double>() : std::optional<double>{};
  const std::size_t dot = path.find('.');
  const std::string first(path.substr(0, dot));
  const std::string_view rest = dot == std::string_view::npos ? "" : path.substr(dot + 1);
  if (json.is_array() && first == "*") {
    std::optional<double> out;
    for (const Json& entry : json) out = largest(out, number_at(entry, rest));
    return out;
  }
  if (json.is_array()) {
    const std::optional<std::uint64_t> index = number_from<std::uint64_t>(first);
    return index && *index < json.size() ? number_at(json[*index], rest) : std::nullopt;
  }
  const auto at = json.is_object() ? json.find(first) : json.end();
  return at == json.end() ? std::nullopt : number_at(*at, rest);
}

}  // namespace

std::span<const Measure> usual_measures() {
  static const std::array kUsual{
      Measure{"step_time", "iteration_time_ps", "s", 1e-12, false},
      Measure{"tokens_per_s", "tokens_per_s", "", 1, true},
      Measure{"mfu", "model_flops_utilisation", "", 1, true},
      Measure{"tflops", "tflops_per_device", "", 1, true},
      Measure{"memory", "memory.programs.*.peak_bytes", "GB", 1e-9, false},
      Measure{"devices", "devices", "", 1, false}};
  return kUsual;
}

Measure measure_of(const std::string& option, const std::string& text) {
  const auto usual = std::ranges::find(usual_measures(), text, &Measure::name);
  if (usual != usual_measures().end()) return *usual;
  for (const bool most : {true, false}) {
    const std::string_view end = most ? ":most" : ":least";
    if (!text.ends_with(end) || text.size() == end.size()) continue;
    const std::string path = text.substr(0, text.size() - end.size());
    return {.name = path, .path = path, .unit = "", .more_is_better = most};
  }
  std::vector<std::string> names;
  for (const Measure& measure : usual_measures()) names.push_back(measure.name);
  throw core::InputError(
      option, fmt::format("{} is no measure; expected one of: {}; or the path of a number in "
                          "summary.json and what is better, e.g. energy.token_j:least{}",
                          in_quotes(text), fmt::join(names, ", "), did_you_mean(text, names)));
}

std::vector<std::optional<double>> figures_of(const std::string& summary,
                                              std::span<const Measure> measures) {
  const Json json = Json::parse(summary, nullptr, false);
  std::vector<std::optional<double>> out;
  for (const Measure& measure : measures) {
    out.push_back(number_at(json, measure.path));
    if (out.back()) *out.back() *= measure.scale;
  }
  return out;
}

std::size_t SweepResults::count(PointState state) const {
  return static_cast<std::size_t>(std::ranges::count(points, state, &SweepPoint::state));
}

}  // namespace exawarp::io
