#include "io/report/calibration_report.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <string_view>

#include "io/report/append.h"

namespace exawarp::io {
namespace {

void add_numbers(const std::vector<FittedNumber>& numbers, std::string& out) {
  for (const FittedNumber& number : numbers) {
    append(out, "  {} {}", number.key, number.text);
  }
}

void add_errors(const FamilyErrors& f, std::string& out) {
  append(out, " {:>7.1f} {:>+7.1f} {:>+8.1f}", f.mean_percent, f.bias_percent, f.worst_percent);
}

void add_families(const CalibrationResult& result, std::string_view start, std::string& out) {
  append(out, "{}{:<16} {:>5} {:>24}   {:>24}\n", start, "family", "rows",
         "before: mean bias worst", "after: mean bias worst");
  const auto after = result.after.families();
  for (const auto& [name, before] : result.before.families()) {
    append(out, "{}{:<16} {:>5}", start, name, before.rows);
    add_errors(before, out);
    out += "  ";
    add_errors(after.at(name), out);
    out += "\n";
  }
}

// The errors of each group as predicted from the others.
void add_left_out(const CalibrationResult& result, std::string_view start, std::string& out) {
  if (result.left_out.empty()) return;
  append(out, "{}\n{}left out, and predicted by a fit to the others:\n", start.substr(0, 1), start);
  double sum = 0;
  for (const LeftOutGroup& group : result.left_out) {
    const FamilyErrors errors = group.validation.families().begin()->second;
    sum += errors.mean_percent;
    append(out, "{}{:<16.16} {:>5}", start, group.name, errors.rows);
    add_errors(errors, out);
    out += " ";
    add_numbers(group.numbers, out);
    out += "\n";
  }
  append(out, "{}mean of them: {:.1f} %\n", start,
         sum / static_cast<double>(result.left_out.size()));
}

void add_tables(const CalibrationResult& result, std::string_view start, std::string& out) {
  add_families(result, start, out);
  add_left_out(result, start, out);
  if (!result.not_fitted.empty()) {
    append(out, "{}rows without a prediction, not fitted: {}\n", start, result.not_fitted.size());
  }
}

}  // namespace

std::string calibration_text(const CalibrationResult& result) {
  std::string out = "fitted:";
  add_numbers(result.numbers, out);
  out += "\n\nerrors of steps, %; above 0: predicted slower than measured\n";
  add_tables(result, "", out);
  return out;
}

std::string calibration_yaml(const CalibrationResult& result, const CalibrationOrigin& origin) {
  std::set<std::string> systems;
  std::string families;
  for (const auto& [name, errors] : result.after.families()) {
    families += (families.empty() ? "" : ", ") + name;
  }
  for (const ValidationRow& row : result.after.rows) systems.insert(row.system);
  std::string out =
      "# Written by `exawarp calibrate`. Errors of steps, %; above 0: predicted slower "
      "than measured.\n#\n";
  add_tables(result, "# ", out);
  append(out, "name: {}\nsource: \"{}, {} rows on", origin.name, origin.rows,
         result.after.rows.size());
  std::string_view comma = " ";
  for (const std::string& system : systems) {
    append(out, "{}{}", comma, system);
    comma = ", ";
  }
  append(out, "; fitted {}\"\nfitted_to: [{}]\n", origin.date, families);
  for (const FittedNumber& number : result.numbers) {
    append(out, "{}: {}\n", number.key, number.text);
  }
  return out;
}

}  // namespace exawarp::io
