// Gauss and Newton's way, by finite differences. The fit without a family starts at the end of the
// fit with it and needs no slopes of its own: they hardly change on so short a way.
#include "io/life/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "core/check.h"
#include "core/error.h"
#include "io/life/least_squares.h"

namespace exawarp::io {
namespace {

struct Fittable {
  const char* key;
  double usual, least, most;
  double spread;      // how far from usual it may be without being worth a mention
  double difference;  // for slopes
  bool is_time;       // in milliseconds
};
constexpr std::array<Fittable, 5> kFittable{{
    {"products", 1, 0.5, 2, 0.5, 0.02, false},
    {"eight_bit_products", 1, 0.5, 2, 0.5, 0.02, false},
    {"attention", 1, 0.5, 2, 0.5, 0.02, false},
    {"memory", 1, 0.5, 2, 0.5, 0.02, false},
    {"step", 0, 0, 1'000, 200, 10, true},
}};
constexpr int kRoundsMax = 6;
constexpr double kExpectedError = 0.01;  // of a row that is described well
constexpr double kGainMin = 1e-3;        // of what is minimised; less is not worth a round

using Values = std::vector<double>;

const Fittable& fittable(const std::string& key) {
  const auto at = std::ranges::find(kFittable, key, &Fittable::key);
  EXAWARP_CHECK(at != kFittable.end());
  return *at;
}

std::string text_of_number(const Fittable& number, double value) {
  return number.is_time ? fmt::format("{:.1f} ms", value) : fmt::format("{:.4f}", value);
}
// As the text says it, so that a file repeats what was simulated.
double rounded(const Fittable& number, double value) {
  const double unit = number.is_time ? 10 : 10'000;
  return std::round(value * unit) / unit;
}

class Fit {
 public:
  Fit(const std::vector<ValidationRow>& rows, const CalibrationOptions& options)
      : options_(options) {
    for (const std::string& key : options.fitted) numbers_.push_back(&fittable(key));
    start(rows);
  }

  CalibrationResult run() {
    for (int round = 1; round <= kRoundsMax; ++round) {
      find_slopes(round);
      if (!go_on(solved(std::string()), round)) break;
    }
    result_.numbers = numbers_of(values_);
    result_.after = validation_of(rows_, steps_);
    if (options_.leave_one_out) leave_one_out();
    return std::move(result_);
  }

 private:
  void start(const std::vector<ValidationRow>& rows) {
    for (const Fittable* number : numbers_) values_.push_back(number->usual);
    const Values steps = simulated(values_, rows, "as it is");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (steps[i] > 0) {
        rows_.push_back(rows[i]);
        steps_.push_back(steps[i]);
        ++rows_of_family_[rows[i].family];
      } else {
        result_.not_fitted.push_back(rows[i]);
      }
    }
    if (rows_.empty()) {
      throw core::InputError("calibrate", fmt::format("none of {} rows can be simulated; expected "
                                                      "rows for which `exawarp validate` prints "
                                                      "a prediction",
                                                      rows.size()));
    }
    result_.before = validation_of(rows_, steps_);
  }

  [[nodiscard]] std::vector<FittedNumber> numbers_of(const Values& values) const {
    std::vector<FittedNumber> all;
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      all.push_back({numbers_[i]->key, text_of_number(*numbers_[i], values[i])});
    }
    return all;
  }

  static Validation validation_of(const std::vector<ValidationRow>& rows, const Values& steps) {
    Validation out{.rows = rows, .results = {}};
    for (const double step : steps) out.results.push_back({.predicted_s = step, .problem = ""});
    return out;
  }

  // Seconds of each row's step; 0: it cannot be simulated.
  [[nodiscard]] Values simulated(const Values& values, const std::vector<ValidationRow>& rows,
                                 const std::string& what) const {
    if (options_.progress) options_.progress(what);
    ValidationOptions each = options_.validation;
    // Without what the accelerators name, which an earlier fit may have found.
    each.overrides.insert(each.overrides.begin(), "system.accelerator.calibration={}");
    for (const FittedNumber& number : numbers_of(values)) {
      each.overrides.push_back(
          fmt::format("system.accelerator.calibration.{}={}", number.key, number.text));
    }
    Values steps;
    for (const ValidationResult& result : validate(rows, each)) steps.push_back(result.predicted_s);
    return steps;
  }

  [[nodiscard]] double weight(const ValidationRow& row) const {
    return 1 /
           (kExpectedError * kExpectedError * static_cast<double>(rows_of_family_.at(row.family)));
  }

  // What is minimised.
  [[nodiscard]] double sum(const Values& values, const Values& steps) const {
    double out = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      out += weight(rows_[i]) * std::pow(std::log(steps[i] / rows_[i].measured_s), 2);
    }
    for (std::size_t p = 0; p < values.size(); ++p) {
      out += std::pow((values[p] - numbers_[p]->usual) / numbers_[p]->spread, 2);
    }
    return out;
  }

  // Towards `next`, or half of the way, or a quarter of it, where steps are less linear. False: it
  // is not worth another round.
  bool go_on(const Values& next, int round) {
    const double before = sum(values_, steps_);
    for (const double share : {1.0, 0.5, 0.25}) {
      Values values = values_;
      for (std::size_t p = 0; p < values.size(); ++p) {
        values[p] = rounded(*numbers_[p], values[p] + share * (next[p] - values[p]));
      }
      const Values steps = simulated(values, rows_, fmt::format("round {}: fitted", round));
      const double after = sum(values, steps);
      if (!(after < before)) continue;
      values_ = values;
      steps_ = steps;
      return after < (1 - kGainMin) * before;
    }
    return false;
  }

  void find_slopes(int round) {
    slopes_.assign(rows_.size(), Values(numbers_.size()));
    for (std::size_t p = 0; p < numbers_.size(); ++p) {
      const Fittable& number = *numbers_[p];
      const double difference =
          values_[p] + number.difference > number.most ? -number.difference : number.difference;
      Values changed = values_;
      changed[p] += difference;
      const Values steps =
          simulated(changed, rows_, fmt::format("round {}: {}", round, number.key));
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        EXAWARP_CHECK(steps[i] > 0, steps[i]);
        // Steps are nearly linear in the numbers, so this is the logarithm's slope here.
        slopes_[i][p] = (steps[i] / steps_[i] - 1) / difference;
      }
    }
  }

  // From values_ and steps_, without the rows of a group; empty: with all.
  [[nodiscard]] Values solved(const std::string& without) const {
    std::vector<BoundedNumber> numbers;
    for (std::size_t p = 0; p < numbers_.size(); ++p) {
      const Fittable& number = *numbers_[p];
      numbers.push_back({.value = values_[p],
                         .usual = number.usual,
                         .spread = number.spread,
                         .least = number.least,
                         .most = number.most});
    }
    std::vector<LinearRow> rows;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (!without.empty() && group(rows_[i]) == without) continue;
      rows.push_back({.residual = std::log(steps_[i] / rows_[i].measured_s),
                      .weight = weight(rows_[i]),
                      .slopes = slopes_[i]});
    }
    Values values = least_squares(numbers, rows);
    for (std::size_t p = 0; p < values.size(); ++p) values[p] = rounded(*numbers_[p], values[p]);
    return values;
  }

  [[nodiscard]] const std::string& group(const ValidationRow& row) const {
    return rows_of_family_.size() > 1 ? row.family : row.name;
  }

  void leave_one_out() {
    std::set<std::string> groups;
    for (const ValidationRow& row : rows_) groups.insert(group(row));
    if (groups.size() < 2) return;  // nothing to fit to
    for (const std::string& name : groups) {
      std::vector<ValidationRow> rows;
      for (const ValidationRow& row : rows_) {
        if (group(row) == name) rows.push_back(row);
      }
      const Values values = solved(name);
      const Values steps = simulated(values, rows, "without " + name);
      result_.left_out.push_back({name, numbers_of(values), validation_of(rows, steps)});
    }
  }

  const CalibrationOptions& options_;
  std::vector<const Fittable*> numbers_;
  std::vector<ValidationRow> rows_;  // that can be simulated
  std::map<std::string, std::size_t> rows_of_family_;
  Values values_;
  Values steps_;                // of rows_, simulated with values_
  std::vector<Values> slopes_;  // of the logarithm of each row's step, by number
  CalibrationResult result_;
};

}  // namespace

std::vector<std::string> fitted_keys() {
  std::vector<std::string> keys;
  for (const Fittable& number : kFittable) keys.emplace_back(number.key);
  return keys;
}

CalibrationResult calibrate(const std::vector<ValidationRow>& rows,
                            const CalibrationOptions& options) {
  EXAWARP_CHECK(!options.fitted.empty() && options.fitted.size() <= kFittedMax);
  return Fit(rows, options).run();
}

}  // namespace exawarp::io
