// Families are summed up once; the table, JSON and the picture go over the same rows.
#include "io/report/validation_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "io/report/append.h"
#include "io/report/printed_json.h"
#include "io/report/validation_pairs.h"

namespace exawarp::io {
namespace {

using Json = nlohmann::ordered_json;

std::string noise_text(const ValidationRow& row) {
  return row.noise_percent > 0 ? fmt::format("{:.1f}", row.noise_percent) : "";
}

void add_rows(const Validation& v, std::string& out) {
  append(out, "{:<14} {:<52} {:>11} {:>11} {:>8} {:>7}\n", "family", "row", "measured, s",
         "predicted", "error, %", "noise");
  for (std::size_t i = 0; i < v.rows.size(); ++i) {
    const ValidationRow& row = v.rows[i];
    if (!v.results[i].known()) continue;
    append(out, "{:<14} {:<52.52} {:>11.4g} {:>11.4g} {:>+8.1f} {:>7}\n", row.family, row.name,
           row.measured_s, v.results[i].predicted_s, error_percent(row, v.results[i]),
           noise_text(row));
  }
}

void add_families(const Validation& v, std::string& out) {
  append(out, "\n{:<14} {:>5} {:>7} {:>9} {:>7} {:>7} {:>8}\n", "family", "rows", "fitted",
         "left out", "mean", "bias", "worst, %");
  for (const auto& [name, f] : v.families()) {
    append(out, "{:<14} {:>5} {:>7} {:>9}", name, f.rows, f.fitted != 0 ? "yes" : "", f.left_out);
    if (f.rows != 0) {
      append(out, " {:>7.1f} {:>+7.1f} {:>+8.1f}", f.mean_percent, f.bias_percent, f.worst_percent);
    }
    out += "\n";
  }
}

void add_coverage(const Validation& v, std::string& out) {
  append(out, "\nHow compute time is known, in percent; each row weighs the same:\n{:<20} {:>5}",
         "accelerator", "rows");
  for (const auto& name : model::kProvenanceNames) append(out, " {:>12}", name.name);
  out += "\n";
  for (const auto& [accelerator, c] : v.coverage()) {
    append(out, "{:<20} {:>5}", accelerator, c.rows);
    for (const double share : c.shares) append(out, " {:>12.1f}", 100 * share);
    out += "\n";
  }
}

void add_left_out(const Validation& v, std::string& out) {
  std::map<std::string, std::size_t> reasons;
  for (const ValidationResult& result : v.results) {
    if (!result.known()) ++reasons[result.problem];
  }
  if (reasons.empty()) return;
  out += "\nLeft out:\n";
  for (const auto& [reason, rows] : reasons) {
    append(out, "{:>5}  {}\n", rows, reason);
  }
}

// ---- the picture

constexpr double kPlotSize = 560, kPlotMargin = 60;
constexpr std::array<const char*, 8> kFamilyColours{"#4878a8", "#c06030", "#508848", "#8858a0",
                                                    "#b04860", "#887030", "#308890", "#707070"};

struct Axis {
  double low = 0, high = 1;  // decimal logarithms
  [[nodiscard]] double at(double seconds) const {
    return (std::log10(seconds) - low) / (high - low) * kPlotSize;
  }
};

Axis axis_of(const Validation& v) {
  Axis axis{.low = 9, .high = -9};
  for (std::size_t i = 0; i < v.rows.size(); ++i) {
    if (!v.results[i].known()) continue;
    for (const double s : {v.rows[i].measured_s, v.results[i].predicted_s}) {
      axis.low = std::min(axis.low, std::floor(std::log10(s)));
      axis.high = std::max(axis.high, std::ceil(std::log10(s)));
    }
  }
  return axis.low < axis.high ? axis : Axis{};
}

void add_line(const Axis& axis, double factor, const char* style, std::string& out) {
  const double up = std::log10(factor) / (axis.high - axis.low) * kPlotSize;
  append(out, "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{2:.1f}\" y2=\"{3:.1f}\" {4}/>\n",
         kPlotMargin, kPlotMargin + kPlotSize - up, kPlotMargin + kPlotSize, kPlotMargin - up,
         style);
}

void add_scale(const Axis& axis, std::string& out) {
  for (double decade = axis.low; decade <= axis.high; ++decade) {
    const double at = axis.at(std::pow(10, decade));
    append(out,
           "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:g}</text>\n"
           "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:g}</text>\n",
           kPlotMargin + at, kPlotMargin + kPlotSize + 18, std::pow(10, decade), kPlotMargin - 6,
           kPlotMargin + kPlotSize - at + 4, std::pow(10, decade));
  }
  append(out,
         "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">measured, seconds a step"
         "</text>\n<text x=\"{:.1f}\" y=\"{:.1f}\">predicted, seconds; lines at 10 %"
         "</text>\n",
         kPlotMargin + kPlotSize / 2, kPlotMargin + kPlotSize + 40, kPlotMargin, kPlotMargin - 16);
}

}  // namespace

std::map<std::string, FamilyErrors> Validation::families() const {
  std::map<std::string, FamilyErrors> all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    FamilyErrors& f = all[rows[i].family];
    if (!results[i].known()) {
      ++f.left_out;
      continue;
    }
    const double error = error_percent(rows[i], results[i]);
    ++f.rows;
    if (results[i].fitted) ++f.fitted;
    f.mean_percent += std::abs(error);
    f.bias_percent += error;
    if (std::abs(error) > std::abs(f.worst_percent)) f.worst_percent = error;
  }
  for (auto& [name, f] : all) {
    if (f.rows == 0) continue;
    f.mean_percent /= static_cast<double>(f.rows);
    f.bias_percent /= static_cast<double>(f.rows);
  }
  return all;
}

std::map<std::string, Coverage> Validation::coverage() const {
  std::map<std::string, Coverage> all;
  for (const ValidationResult& result : results) {
    if (!result.known() || result.accelerator.empty()) continue;
    Coverage& c = all[result.accelerator];
    ++c.rows;
    for (std::size_t i = 0; i < c.shares.size(); ++i) c.shares[i] += result.known_by[i];
  }
  for (auto& [accelerator, c] : all) {
    for (double& share : c.shares) share /= static_cast<double>(c.rows);
  }
  return all;
}

std::string validation_text(const Validation& v) {
  std::string out;
  add_rows(v, out);
  add_families(v, out);
  add_from_one_row(v, out);
  add_trends(v, out);
  add_coverage(v, out);
  add_left_out(v, out);
  return out;
}

std::string validation_json(const Validation& v) {
  Json list = Json::array(), families = Json::object();
  for (std::size_t i = 0; i < v.rows.size(); ++i) {
    const ValidationRow& row = v.rows[i];
    Json entry{{"family", row.family}, {"row", row.name}, {"measured_s", row.measured_s}};
    if (row.noise_percent > 0) entry["noise_percent"] = row.noise_percent;
    if (v.results[i].known()) {
      entry["predicted_s"] = v.results[i].predicted_s;
      entry["error_percent"] = error_percent(row, v.results[i]);
    } else {
      entry["left_out"] = v.results[i].problem;
    }
    entry["source"] = row.source;
    list.push_back(std::move(entry));
  }
  for (const auto& [name, f] : v.families()) {
    families[name] = {{"rows", f.rows},
                      {"fitted", f.fitted},
                      {"left_out", f.left_out},
                      {"mean_percent", f.mean_percent},
                      {"bias_percent", f.bias_percent},
                      {"worst_percent", f.worst_percent}};
  }
  Json from_one_row = Json::object(), trends = Json::array();
  for (const auto& [name, p] : from_one_row_of_families(v)) {
    from_one_row[name] = {{"pairs", p.pairs},
                          {"mean_percent", p.predicted.mean_percent},
                          {"worst_percent", p.predicted.worst_percent},
                          {"formula_mean_percent", p.formula.mean_percent},
                          {"formula_worst_percent", p.formula.worst_percent},
                          {"closer_than_formula", p.closer}};
  }
  for (const TrendRatios& t : ratios_of_trends(v)) {
    trends.push_back({{"kind", t.trend.kind},
                      {"family", t.trend.family},
                      {"row", t.trend.row},
                      {"other_family", t.trend.other_family},
                      {"other_row", t.trend.other_row},
                      {"measured", t.measured},
                      {"predicted", t.predicted},
                      {"error_percent", t.error_percent()}});
  }
  Json coverage = Json::object();
  for (const auto& [accelerator, c] : v.coverage()) {
    Json& entry = coverage[accelerator] = {{"rows", c.rows}};
    for (const auto& known : model::kProvenanceNames) {
      entry[std::string(known.name)] = c.of(known.value);
    }
  }
  const Json all{{"schema", "exawarp-validation-1"},
                 {"families", families},
                 {"from_one_row", from_one_row},
                 {"trends", trends},
                 {"coverage", coverage},
                 {"rows", list}};
  return printed(all);
}

std::string validation_svg(const Validation& v) {
  const Axis axis = axis_of(v);
  const auto families = v.families();
  const double width = 2 * kPlotMargin + kPlotSize + 120, height = 2 * kPlotMargin + kPlotSize;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "fill=\"white\"/>\n",
      width, height);
  add_line(axis, 1, "stroke=\"#303030\"", out);
  for (const double factor : {1.1, 1 / 1.1}) {
    add_line(axis, factor, "stroke=\"#a0a0a0\" stroke-dasharray=\"4 4\"", out);
  }
  add_scale(axis, out);
  std::size_t index = 0;
  for (const auto& [name, f] : families) {
    if (f.rows == 0) continue;
    const char* colour = kFamilyColours[index % kFamilyColours.size()];
    const double legend = kPlotMargin + 16 * static_cast<double>(index++);
    append(out,
           "<circle cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"4\" fill=\"{2}\"/>"
           "<text x=\"{3:.1f}\" y=\"{4:.1f}\">{5}</text>\n",
           kPlotMargin + kPlotSize + 16, legend, colour, kPlotMargin + kPlotSize + 26, legend + 4,
           name);
    for (std::size_t i = 0; i < v.rows.size(); ++i) {
      if (v.rows[i].family != name || !v.results[i].known()) continue;
      append(out, "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n",
             kPlotMargin + axis.at(v.rows[i].measured_s),
             kPlotMargin + kPlotSize - axis.at(v.results[i].predicted_s), colour);
    }
  }
  return out + "</svg>\n";
}

}  // namespace exawarp::io
