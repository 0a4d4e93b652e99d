#include "io/cli/serving_command_line.h"

#include <CLI/CLI.hpp>
#include <limits>

#include "io/cli/option_values.h"

namespace exawarp::io {

void add_capacity(CLI::App& app, CapacityArguments& a) {
  app.add_option("STUDY", a.study_file,
                 "serving study, or study with a job that serves, with objectives: a file, or a "
                 "name in configs/serving or configs/studies")
      ->required();
  app.add_option("--over", a.over,
                 "finds one for each value of a key, and which of them are best: "
                 "KEY=VALUE,VALUE,...");
  app.add_option("--job", a.job, "job that serves, of a study with several");
  const auto up_to = [](std::uint64_t max) { return CLI::Validator(unsigned_up_to(max), ""); };
  app.add_option("--split", a.split,
                 "finds one for each split of so many devices between replicas that compute "
                 "prompts and replicas that decode, and the best of them")
      ->transform(up_to(1 << 24));
  const std::string layouts = "TENSORxPIPELINE[:BLOCKS],... (default: the study's)";
  app.add_option("--prompts", a.prompts, "of --split: layouts of those for prompts, " + layouts);
  app.add_option("--decodes", a.decodes, "of --split: layouts of those that decode, " + layouts);
  app.add_option("--below", a.below,
                 "also simulates so many loads below each capacity, each half of the one above it")
      ->transform(up_to(64));
  app.add_option("--tolerance", a.tolerance, "of the rate, as a share of it")
      ->check(CLI::Validator(real_in({.min = 1e-6, .max = 1}), ""))
      ->capture_default_str();
  app.add_option("--set", a.overrides, "replaces a key: path.to.key=value (repeatable)")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--seed", a.options.seed, "seed of every random number")
      ->transform(
          CLI::Validator(unsigned_up_to(std::numeric_limits<std::uint64_t>::max()), ""));
  app.add_option("--time-limit", a.options.time_limit_s,
                 "ends the program after this many host seconds, with what it has by then")
      ->check(CLI::Validator(real_in({.min = 0, .min_excluded = true}), ""));
  app.add_option("-o,--output", a.database,
                 "the database of the loads that are simulated; takes from one that is there what "
                 "it has (default: none is kept)");
  app.add_option("--out", a.out_directory, "directory of the results (default: none are written)");
  app.add_flag("--json", a.json, "prints one JSON object on standard output");
  app.add_flag("--force", a.force,
               "replaces the results of another study in the directory (default: DIR.2 and so on)");
}

void add_request_tables(CLI::App& app, RequestTables& a) {
  app.add_option("--requests", a.requests,
                 "writes what became of each request that was served there (CSV)");
  app.add_option("--requests-series", a.series,
                 "writes how many requests came, waited and were answered over time there (CSV)");
  app.add_option("--requests-series-width", a.width_text,
                 "of its rows, e.g. \"1 s\" (default: at most 500 rows)");
}

void finish_request_tables(RequestTables& a) {
  if (a.width_text.empty()) return;
  const char* const option = "--requests-series-width";
  if (a.series.empty()) {
    throw core::InputError(option, "has no effect without --requests-series FILE");
  }
  a.width = parse_time(option, a.width_text);
  if (a.width <= core::Time{0}) {
    throw core::InputError(option, in_quotes(a.width_text) + "; expected more than 0 s");
  }
}

}  // namespace exawarp::io
