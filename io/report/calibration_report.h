// What a calibration says: the numbers, the errors before and after, and those of rows that were
// left out of a fit; the file that accelerators name.
#pragma once

#include <string>
#include <vector>

#include "io/report/validation_report.h"

namespace exawarp::io {

// A key of `accelerator.calibration` and what it is: "0.9312", "41.2 ms".
struct FittedNumber {
  std::string key;
  std::string text;
};

// A group of rows that a fit did without, and what it then says of them.
struct LeftOutGroup {
  std::string name;  // of the family, or of the row where there is one family
  std::vector<FittedNumber> numbers;
  Validation validation;  // of the group's rows alone
};

struct CalibrationResult {
  std::vector<FittedNumber> numbers;
  Validation before, after;               // of all rows that have a prediction
  std::vector<LeftOutGroup> left_out;     // empty: not asked for
  std::vector<ValidationRow> not_fitted;  // no prediction
};

std::string calibration_text(const CalibrationResult& result);

struct CalibrationOrigin {
  std::string name;  // of the calibration
  std::string rows;  // the file they come from
  std::string date;  // "2026-11-23"
};
// With where it comes from and its errors as comments.
std::string calibration_yaml(const CalibrationResult& result, const CalibrationOrigin& origin);

}  // namespace exawarp::io
