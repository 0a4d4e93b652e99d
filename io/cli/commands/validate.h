// `exawarp validate`: published training runs beside what is predicted for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/cli/console.h"
#include "io/report/validation_report.h"
#include "pdes/transport.h"

namespace exawarp::io {

struct ValidateArguments {
  std::string suite = "configs/validation/training.csv";
  std::string study_file = "configs/validation/study.yaml";
  // Pairs of the suite's rows whose ratio is compared.
  std::string trends_file = "configs/validation/trends.csv";
  std::string mine;                    // a file of the user's own rows, in place of the suite
  std::vector<std::string> families;   // these alone; empty: all
  std::vector<std::string> rows;       // rows whose name contains one of them; empty: all
  std::string system;                  // rows whose system's name contains it; empty: all
  std::vector<std::string> overrides;  // of every row's study
  std::string out_directory;           // for validation.json and validation.svg; empty: none
  std::uint32_t threads = 0;           // rows at a time; 0: as many as there are cores
  bool json = false;
  bool serving = false;  // measured points of serving engines instead, and none of the above
  std::string points_file = "configs/validation/serving/points.csv";
  std::string points_output;  // a line a point; empty: none
};

// The rows that are asked for, in the file's order. Throws core::InputError where there are none.
std::vector<ValidationRow> chosen_rows(const ValidateArguments& arguments);

// Throws as read_validation() and validate(), and core::InputError where no row is asked for.
int run_validate(const ValidateArguments& arguments, const Console& console,
                 pdes::Transport& transport);

}  // namespace exawarp::io
