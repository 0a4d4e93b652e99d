// Published training runs beside what a study of each says: the suite of configs/validation, or a
// file of the same columns that a user brings.
//
//   const auto rows = read_validation("configs/validation/training.csv");
//   const auto results = validate(rows, {.study_file = "configs/validation/study.yaml"});
//
// A row's columns replace keys of one study, which says everything else; rows are simulated one by
// one, several at a time. Nothing of a result depends on how many.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/report/validation_report.h"

namespace exawarp::io {

// Throws core::InputError naming line and column of what is wrong: a missing column, a number that
// is none, a row that is neither measured nor given a reason.
std::vector<ValidationRow> read_validation(const std::string& path);

// Pairs of `rows`, from a file with the columns kind, family, row, other_family and other_row.
// Throws core::InputError naming the line of a pair that names no row, or more than one.
std::vector<Trend> read_trends(const std::string& path, const std::vector<ValidationRow>& rows);

struct ValidationOptions {
  std::string study_file;
  std::vector<std::string> overrides = {};  // of every row's study, after the row's own
  std::uint32_t threads = 1;                // rows at a time
  std::function<void(std::size_t done, std::size_t all)> progress =
      {};  // from one thread at a time
};

// As many results as rows, in their order; rows with a reason are not simulated and have it as
// their problem, as have rows whose study is refused. Throws what else a simulation throws.
std::vector<ValidationResult> validate(const std::vector<ValidationRow>& rows,
                                       const ValidationOptions& options);

}  // namespace exawarp::io
