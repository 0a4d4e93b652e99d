#include "io/report/validation_pairs.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>

#include "io/report/append.h"

namespace exawarp::io {
namespace {

void count(double error_percent, PairErrors& out) {
  out.mean_percent += std::abs(error_percent);
  if (std::abs(error_percent) > std::abs(out.worst_percent)) out.worst_percent = error_percent;
}

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// The row of the name that has a prediction.
std::size_t index_of(const Validation& v, const std::string& family, const std::string& name) {
  for (std::size_t i = 0; i < v.rows.size(); ++i) {
    if (v.rows[i].family == family && v.rows[i].name == name && v.results[i].known()) return i;
  }
  return kNone;
}

}  // namespace

std::map<std::string, FromOneRow> from_one_row_of_families(const Validation& v) {
  std::map<std::string, std::vector<std::size_t>> families;
  for (std::size_t i = 0; i < v.rows.size(); ++i) {
    if (v.results[i].known() && v.results[i].formula_s > 0) families[v.rows[i].family].push_back(i);
  }
  std::map<std::string, FromOneRow> all;
  for (const auto& [name, members] : families) {
    if (members.size() < 2) continue;
    FromOneRow& out = all[name];
    for (const std::size_t anchor : members) {
      for (const std::size_t i : members) {
        if (i == anchor) continue;
        const double measured = v.rows[i].measured_s / v.rows[anchor].measured_s;
        const auto error = [measured](double ratio) { return 100 * (ratio / measured - 1); };
        const double predicted = error(v.results[i].predicted_s / v.results[anchor].predicted_s);
        const double formula = error(v.results[i].formula_s / v.results[anchor].formula_s);
        ++out.pairs;
        if (std::abs(predicted) < std::abs(formula)) ++out.closer;
        count(predicted, out.predicted);
        count(formula, out.formula);
      }
    }
    out.predicted.mean_percent /= static_cast<double>(out.pairs);
    out.formula.mean_percent /= static_cast<double>(out.pairs);
  }
  return all;
}

std::vector<TrendRatios> ratios_of_trends(const Validation& v) {
  std::vector<TrendRatios> all;
  for (const Trend& trend : v.trends) {
    const std::size_t first = index_of(v, trend.family, trend.row);
    const std::size_t second = index_of(v, trend.other_family, trend.other_row);
    if (first == kNone || second == kNone) continue;
    all.push_back({.trend = trend,
                   .measured = v.rows[second].measured_s / v.rows[first].measured_s,
                   .predicted = v.results[second].predicted_s / v.results[first].predicted_s});
  }
  return all;
}

void add_from_one_row(const Validation& v, std::string& out) {
  const auto all = from_one_row_of_families(v);
  if (all.empty()) return;
  append(out, "\nFrom one row of a family, every other; each row in turn:\n");
  append(out, "{:<14} {:>6} {:>22} {:>22} {:>8}\n", "family", "pairs",
                 "predicted: mean, worst", "formula: mean, worst", "closer");
  for (const auto& [name, p] : all) {
    append(out, "{:<14} {:>6} {:>13.1f} {:>+8.1f} {:>13.1f} {:>+8.1f} {:>6.0f} %\n",
                   name, p.pairs, p.predicted.mean_percent, p.predicted.worst_percent,
                   p.formula.mean_percent, p.formula.worst_percent,
                   100 * static_cast<double>(p.closer) / static_cast<double>(p.pairs));
  }
}

void add_trends(const Validation& v, std::string& out) {
  const auto all = ratios_of_trends(v);
  if (all.empty()) return;
  append(out, "\nTrends, the step of the second row over that of the first:\n");
  append(out, "{:<10} {:<42} {:<42} {:>8} {:>9} {:>7}\n", "kind", "first", "second",
                 "measured", "predicted", "off, %");
  for (const TrendRatios& t : all) {
    append(out, "{:<10} {:<42.42} {:<42.42} {:>8.3f} {:>9.3f} {:>+7.1f}\n",
                   t.trend.kind, t.trend.family + " " + t.trend.row,
                   t.trend.other_family + " " + t.trend.other_row, t.measured, t.predicted,
                   t.error_percent());
  }
}

}  // namespace exawarp::io
