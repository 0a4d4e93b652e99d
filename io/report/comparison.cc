// Both summaries are flattened to paths and values, and so are the resolved studies beside them.
#include "io/report/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "io/report/append.h"
#include "io/report/printed_json.h"
#include "io/report/results.h"
#include "io/report/summary_file.h"
#include "io/study/suggest.h"
#include "io/study/yaml.h"

namespace exawarp::io {
namespace {

using Json = nlohmann::ordered_json;

struct Value {
  std::string text;
  double number = 0;
  bool is_number = false;
};
using Values = std::vector<std::pair<std::string, Value>>;

// Of the program and its run; the values that say what was simulated are inputs.
constexpr std::array<std::string_view, 4> kInputs{"exawarp_version", "study", "seed",
                                                  "provenance.commit"};
constexpr std::array<std::string_view, 20> kOfTheHost{
    "study_file", "sync",   "ranks", "threads",        "partitions", "placement",
    "events_per_s", "setup_s", "run_s", "peak_rss_bytes", "processed_events",
    "rolled_back_events", "rollbacks", "gvt_rounds", "engine", "placement_quality",
    "provenance", "packets.packet_hops_per_s", "waiting_devices", "schema"};

bool is_below(std::string_view key, std::string_view path) {
  return key == path || (key.starts_with(path) && key[path.size()] == '.');
}
template <std::size_t n>
bool is_any(std::string_view key, const std::array<std::string_view, n>& paths) {
  return std::ranges::any_of(paths, [&](std::string_view path) { return is_below(key, path); });
}

// The texts that tell an entry of a list from the others; its index where it has none.
std::string label_of(const Json& entry, std::size_t index) {
  std::string label;
  if (entry.is_object()) {
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) continue;
      if (!label.empty()) label += " ";
      label += value.get<std::string>();
    }
  }
  return label.empty() ? std::to_string(index) : label;
}

void flatten(const Json& json, const std::string& path, Values& out) {
  const auto below = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) flatten(value, below(key), out);
  } else if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) {
      flatten(json[i], below(label_of(json[i], i)), out);
    }
  } else if (json.is_number()) {
    out.push_back({path, {.text = json.dump(), .number = json.get<double>(), .is_number = true}});
  } else {
    out.push_back({path, {.text = json.is_string() ? json.get<std::string>() : json.dump()}});
  }
}

Values values_in(const std::string& file) {
  Values all;
  flatten(read_summary(file), "", all);
  return all;
}

// Of the study as it was resolved; nothing where it does not lie beside the summary.
Values study_beside(const std::string& summary) {
  const std::filesystem::path file =
      std::filesystem::path(summary).parent_path() / kResolvedStudyFile;
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return {};
  Values all;
  for (const Setting& setting : YamlDocument(file.string()).settings()) {
    all.push_back({"study." + setting.key, {.text = setting.value}});
  }
  return all;
}

using Index = std::map<std::string_view, const Value*>;
Index index_of(const Values& all) {
  Index index;
  for (const auto& [key, value] : all) index.emplace(key, &value);
  return index;
}
const Value* find(const Index& all, const std::string& key) {
  const auto at = all.find(key);
  return at == all.end() ? nullptr : at->second;
}

Difference difference(const std::string& key, const Value* a, const Value* b, double tolerance) {
  Difference out{.key = key,
                 .a = a == nullptr ? "" : a->text,
                 .b = b == nullptr ? "" : b->text,
                 .is_number = a != nullptr && b != nullptr && a->is_number && b->is_number};
  if (out.is_number) {
    const double size = std::abs(a->number), moved = b->number - a->number;
    if (size > 0) {
      out.change = moved / size;
    } else if (moved != 0) {
      out.change = std::copysign(std::numeric_limits<double>::infinity(), moved);
    }
    out.drifted = std::abs(out.change) > tolerance;
  } else {
    out.drifted = key != "digest" || tolerance == 0;
  }
  return out;
}

// Those that differ, in the first one's order; then what only the second one has.
std::vector<Difference> differences(const Values& a, const Values& b, double tolerance) {
  std::vector<Difference> out;
  const Index in_a = index_of(a), in_b = index_of(b);
  for (const auto& [key, value] : a) {
    const Value* const other = find(in_b, key);
    if (other == nullptr || other->text != value.text) {
      out.push_back(difference(key, &value, other, tolerance));
    }
  }
  for (const auto& [key, value] : b) {
    if (find(in_a, key) == nullptr) out.push_back(difference(key, nullptr, &value, tolerance));
  }
  return out;
}

void add_inputs(const Values& summary, Values& inputs) {
  for (const auto& entry : summary) {
    if (is_any(entry.first, kInputs)) inputs.push_back(entry);
  }
}

Values without_inputs(Values summary) {
  std::erase_if(summary, [](const auto& entry) {
    return is_any(entry.first, kInputs) || is_any(entry.first, kOfTheHost);
  });
  return summary;
}

std::string change_text(const Difference& d) {
  if (!d.is_number) return "";
  return std::isinf(d.change) ? "from 0" : fmt::format("{:+.4g} %", 100 * d.change);
}

}  // namespace

std::size_t Comparison::drifted() const {
  return static_cast<std::size_t>(std::ranges::count_if(figures, &Difference::drifted));
}

Comparison compare_results(const std::string& a, const std::string& b, double tolerance) {
  Comparison out;
  out.a = summary_path(a);
  out.b = summary_path(b);
  out.tolerance = tolerance;
  const Values first = values_in(out.a), second = values_in(out.b);
  Values inputs_a, inputs_b;
  add_inputs(first, inputs_a);
  add_inputs(second, inputs_b);
  for (auto& entry : study_beside(out.a)) inputs_a.push_back(std::move(entry));
  for (auto& entry : study_beside(out.b)) inputs_b.push_back(std::move(entry));
  out.inputs = differences(inputs_a, inputs_b, 0);
  const Values figures = without_inputs(first);
  out.figures_compared = figures.size();
  out.figures = differences(figures, without_inputs(second), tolerance);
  return out;
}

std::string comparison_text(const Comparison& c) {
  std::string out = fmt::format("A  {}\nB  {}\n\n", c.a, c.b);
  const auto line = [&out](const Difference& d) {
    append(out, "{} {:<44} {:>22} {:>22}  {}\n", d.drifted ? '!' : ' ', one_line(d.key),
           one_line(d.a.empty() ? "-" : d.a), one_line(d.b.empty() ? "-" : d.b), change_text(d));
  };
  append(out, "Inputs: {}\n",
         c.inputs.empty() ? "equal" : fmt::format("{} differ", c.inputs.size()));
  for (Difference d : c.inputs) {
    d.drifted = d.is_number = false;
    line(d);
  }
  append(out, "\nFigures: {} of {} differ, {} by more than {:g} %\n", c.figures.size(),
         c.figures_compared, c.drifted(), 100 * c.tolerance);
  for (const Difference& d : c.figures) line(d);
  return out;
}

std::string comparison_json(const Comparison& c) {
  const auto list = [](const std::vector<Difference>& all) {
    Json out = Json::array();
    for (const Difference& d : all) {
      Json entry{{"key", d.key}, {"a", d.a}, {"b", d.b}};
      if (d.is_number && std::isfinite(d.change)) entry["change"] = d.change;
      entry["drifted"] = d.drifted;
      out.push_back(std::move(entry));
    }
    return out;
  };
  return printed({{"schema", "exawarp-comparison-1"},
                  {"a", c.a},
                  {"b", c.b},
                  {"tolerance", c.tolerance},
                  {"figures_compared", c.figures_compared},
                  {"drifted", c.drifted()},
                  {"inputs", list(c.inputs)},
                  {"figures", list(c.figures)}});
}

}  // namespace exawarp::io
