#include "io/cli/validation_command_line.h"

#include <CLI/CLI.hpp>

namespace exawarp::io {
namespace {

// Which rows, and how they are simulated.
void add_rows_of_validation(CLI::App& app, ValidateArguments& a) {
  app.add_option("--mine", a.mine, "your own rows, a CSV file of the columns of the suite");
  app.add_option("--suite", a.suite, "the published rows")->capture_default_str();
  app.add_option("--study", a.study_file, "what every row is a variant of")->capture_default_str();
  app.add_option("--family", a.families, "these families of rows alone (repeatable)")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--row", a.rows, "rows whose name contains it (repeatable)")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--accelerator", a.system, "rows on systems whose name contains it, e.g. h100");
  app.add_option("--set", a.overrides, "replaces a key of every study: path=value (repeatable)")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--threads", a.threads, "rows at a time (default: every core it may use)")
      ->check(CLI::Range(1, 4096));
}

}  // namespace

void add_validate(CLI::App& app, ValidateArguments& a) {
  add_rows_of_validation(app, a);
  app.add_option("--trends", a.trends_file, "pairs of the suite's rows that are compared")
      ->capture_default_str();
  app.add_option("--out", a.out_directory, "folder for validation.json and validation.svg");
  app.add_flag("--serving", a.serving, "measured points of serving engines instead");
  app.add_option("--points", a.points_file, "with --serving: the file of points")
      ->capture_default_str();
  app.add_option("--points-out", a.points_output, "with --serving: a line a point, FILE.csv");
  app.add_flag("--json", a.json, "prints one JSON object");
}

void add_calibrate(CLI::App& app, CalibrateArguments& a) {
  add_rows_of_validation(app, a.rows);
  app.add_option("--fit", a.fitted,
                 "numbers of the accelerator's calibration, at most 4: products, "
                 "eight_bit_products, attention, memory, step")
      ->delimiter(',')
      ->capture_default_str();
  app.add_flag("--leave-one-out", a.leave_one_out,
               "fits again without each family, and tells what that predicts");
  app.add_option("-o,--output", a.output, "a file that accelerators can name, FILE.yaml");
}

}  // namespace exawarp::io
