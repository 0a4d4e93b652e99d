#include "io/cli/results_command_line.h"

#include <CLI/CLI.hpp>

#include "io/cli/option_values.h"

namespace exawarp::io {

void add_compare(CLI::App& app, CompareArguments& a) {
  app.add_option("A", a.a, "directory of results, or summary.json in it")->required();
  app.add_option("B", a.b, "the other one")->required();
  app.add_option("--tolerance", a.tolerance,
                 "relative change of a figure that is no drift, e.g. 0.01 (default: 0)")
      ->check(CLI::Validator(real_in({.min = 0}), ""));
  app.add_flag("--json", a.json, "prints one JSON object");
  app.footer("Ends with 1 where a figure drifted.");
}

void add_report(CLI::App& app, ReportArguments& a) {
  app.add_option("RESULTS", a.results,
                 "directories of results, and databases of sweeps and searches (*.db)")
      ->required();
  app.add_option("-o,--output", a.output, "the page")->capture_default_str();
  app.add_flag("--no-pictures", a.no_pictures, "does not simulate runs again, to draw them");
}

}  // namespace exawarp::io
