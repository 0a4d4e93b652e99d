// What a validation says of two rows at a time: how far a prediction carries from one measured row
// to another, where a constant error of both cancels.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "io/report/validation_report.h"

namespace exawarp::io {

struct PairErrors {
  double mean_percent = 0;   // of the errors' sizes
  double worst_percent = 0;  // the error of the largest size
};

// Every row of a family from every other one: the measured step of the one times the ratio of the
// predictions, and times the ratio of what the formula of ValidationResult says of both.
struct FromOneRow {
  std::size_t pairs = 0;
  std::size_t closer = 0;  // pairs in which the prediction is nearer to the measurement
  PairErrors predicted, formula;
};
// Of families with two rows or more that have both.
std::map<std::string, FromOneRow> from_one_row_of_families(const Validation& validation);

// The second row's step over the first's.
struct TrendRatios {
  Trend trend;
  double measured = 0, predicted = 0;
  [[nodiscard]] double error_percent() const { return 100 * (predicted / measured - 1); }
};
// In the order of the trends, those of which both rows have a prediction.
std::vector<TrendRatios> ratios_of_trends(const Validation& validation);

// Tables; nothing where there is nothing to say.
void add_from_one_row(const Validation& validation, std::string& out);
void add_trends(const Validation& validation, std::string& out);

}  // namespace exawarp::io
