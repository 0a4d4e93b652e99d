// What a validation says: a table of rows and families, JSON, and a picture.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace exawarp::io {

// A row of the file. What it names are files beside the study: ../models/MODEL.yaml and
// ../systems/SYSTEM.yaml.
struct ValidationRow {
  std::string place;   // "training.csv:17"
  std::string family;  // rows of one publication and machine
  std::string name;
  std::string system, model;
  std::vector<std::string> settings;  // of the study, "path=value"
  std::vector<std::string> less;      // beside them, of a run that is subtracted; empty: none
  double measured_s = 0;              // of a step
  double noise_percent = 0;           // of the measurement; 0: not known
  std::string reason;                 // why it cannot be simulated; empty: it can
  std::string source;
};

struct ValidationResult {
  double predicted_s = 0;  // of a step; 0 where `problem` says why there is none
  std::string problem;
  bool fitted = false;  // the accelerator's numbers were fitted to the row's family

  [[nodiscard]] bool known() const { return predicted_s > 0; }
};

// Above 0: predicted slower than measured.
inline double error_percent(const ValidationRow& row, const ValidationResult& result) {
  return 100 * (result.predicted_s / row.measured_s - 1);
}

// Of the rows of a family that have a prediction.
struct FamilyErrors {
  std::size_t rows = 0, left_out = 0, fitted = 0;
  double mean_percent = 0;   // of the errors' sizes
  double bias_percent = 0;   // mean of the errors
  double worst_percent = 0;  // the error of the largest size
};

struct Validation {
  std::vector<ValidationRow> rows;
  std::vector<ValidationResult> results;  // of the rows, in their order

  // By name; rows without a prediction count as left out.
  [[nodiscard]] std::map<std::string, FamilyErrors> families() const;
};

// Row by row, then by family, errors with their sign; what is left out last, by reason.
std::string validation_text(const Validation& validation);
std::string validation_json(const Validation& validation);
// Predicted against measured, both axes logarithmic, a dot a row, a colour a family.
std::string validation_svg(const Validation& validation);

}  // namespace exawarp::io
