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
  CLI::Option* none =
      app.add_flag("--no-pictures", a.no_pictures, "does not simulate runs again, to draw them");
  app.add_option("--as-it-was", a.again_s,
                 "simulates runs again as they were that took up to so many host seconds; longer "
                 "ones at fidelity analytical")
      ->capture_default_str()
      ->excludes(none)
      ->check(CLI::Validator(real_in({.min = 0}), ""));
}

void add_topology(CLI::App& app, TopologyArguments& a) {
  app.require_subcommand(1);
  CLI::App* show = app.add_subcommand("show", "says or draws what a study's network looks like");
  show->add_option("STUDY", a.study_file, "study or traffic study")->required();
  CLI::Option* output =
      show->add_option("-o,--output", a.output, "a picture: FILE.svg or FILE.dot");
  show->add_option("--load", a.load,
                   "colours the picture's links by how busy the counters of `--counters` say")
      ->needs(output);
  show->add_option("--set", a.overrides, "replaces a key of the study: path=value (repeatable)")
      ->take_all()
      ->allow_extra_args(false);
  CLI::Option* json =
      show->add_flag("--json", a.json, "prints the figures as one JSON object")->excludes(output);
  show->add_flag("--links", a.links, "lists the links by the names that faults take")
      ->excludes(output)
      ->excludes(json);
}

}  // namespace exawarp::io
