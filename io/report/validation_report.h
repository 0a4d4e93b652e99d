// What a validation says: tables of rows, families and pairs of rows, JSON, and a picture.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/compute/pedigree.h"

namespace exawarp::io {

// A row of the file. What it names are files beside the study: ../models/MODEL.yaml,
// ../systems/SYSTEM.yaml and ../kernels/TABLES.
struct ValidationRow {
  std::string place;   // "training.csv:17"
  std::string family;  // rows of one publication and machine
  std::string name;
  std::string system, model;
  std::string tables;  // measured kernels in place of the accelerator's own; empty: those
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
  // Seconds of the step by arithmetic alone, at the peak, with the bubble of the pipeline: what a
  // reader would scale a measured row by. 0: the row is no transformer's training.
  double formula_s = 0;
  std::string accelerator = {};
  model::Pedigree::Shares known_by = {};  // shares of the compute time, by Provenance; sum: 1

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

// How the compute time of an accelerator's rows is known; each row weighs as much as another.
struct Coverage {
  std::size_t rows = 0;
  model::Pedigree::Shares shares = {};

  [[nodiscard]] double of(model::Provenance provenance) const {
    return shares.at(static_cast<std::size_t>(provenance));
  }
};

// Two rows, by their families and names: what the step of the second is of the first's.
struct Trend {
  std::string kind;  // what differs: "chip", "recompute"
  std::string family, row;
  std::string other_family, other_row;
};

struct Validation {
  std::vector<ValidationRow> rows;
  std::vector<ValidationResult> results;  // of the rows, in their order
  std::vector<Trend> trends = {};         // some of rows that are not among these

  // By name; rows without a prediction count as left out.
  [[nodiscard]] std::map<std::string, FamilyErrors> families() const;
  // By the accelerator's name, of rows with a prediction.
  [[nodiscard]] std::map<std::string, Coverage> coverage() const;
};

// Row by row, then by family, errors with their sign; what follows from one row of a family;
// trends; what is left out last, by reason.
std::string validation_text(const Validation& validation);
std::string validation_json(const Validation& validation);
// Predicted against measured, both axes logarithmic, a dot a row, a colour a family.
std::string validation_svg(const Validation& validation);

}  // namespace exawarp::io
