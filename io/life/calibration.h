// Fits the numbers of an accelerator's calibration to measured steps.
//
// Steps are simulated, as validate() does, with each number changed by a little in turn; then the
// relative errors are as linear in the numbers as makes no difference, and least squares give the
// next values. A few rounds of that. Families weigh alike, however many rows they have. Nothing is
// drawn, so the same rows give the same numbers on any number of threads.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "io/life/validation.h"
#include "io/report/calibration_report.h"

namespace exawarp::io {

constexpr std::size_t kFittedMax = 4;  // more would be fitted by any model

// Keys of `accelerator.calibration` that can be fitted.
std::vector<std::string> fitted_keys();

struct CalibrationOptions {
  ValidationOptions validation;     // its overrides may give numbers that are not fitted
  std::vector<std::string> fitted;  // 1 to kFittedMax of fitted_keys()
  // Fits again without each family (or, if there is one family, row), and says what that predicts.
  bool leave_one_out = false;
  std::function<void(std::string_view what)> progress = {};
};

// The rows may be of several accelerators, which then share the numbers. Throws core::InputError
// where no row can be simulated, and what validate() throws.
CalibrationResult calibrate(const std::vector<ValidationRow>& rows,
                            const CalibrationOptions& options);

}  // namespace exawarp::io
