#include "io/cli/commands/validate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>
#include <set>

#include "core/error.h"
#include "core/machine.h"
#include "core/output_file.h"
#include "io/life/serving_validation.h"
#include "io/life/validation.h"
#include "io/report/results.h"
#include "io/report/validation_report.h"
#include "io/study/find_config.h"

namespace exawarp::io {
namespace {

int run_serving_validation(const ValidateArguments& a, const Console& console) {
  const auto points = read_serving_points(find_below_configs(a.points_file));
  const std::uint32_t threads =
      a.threads != 0 ? a.threads : core::discover_machine().workers_max;
  const auto results = predict(points, threads);
  if (!a.points_output.empty()) {
    core::OutputFiles files;
    files.add(a.points_output, serving_validation_csv(points, results));
    files.commit();
  }
  console.out << serving_validation_text(points, results) << std::flush;
  return 0;
}

}  // namespace

std::vector<ValidationRow> chosen_rows(const ValidateArguments& a) {
  const std::string file = a.mine.empty() ? find_below_configs(a.suite) : a.mine;
  std::vector<ValidationRow> rows = read_validation(file);
  std::set<std::string> known;
  for (const ValidationRow& row : rows) known.insert(row.family);
  for (const std::string& family : a.families) {
    if (known.contains(family)) continue;
    throw core::InputError("--family", fmt::format("\"{}\" is none of {}; expected one of: {}",
                                                   family, file, fmt::join(known, ", ")));
  }
  std::erase_if(rows, [&](const ValidationRow& row) {
    const bool other_family =
        !a.families.empty() && std::ranges::find(a.families, row.family) == a.families.end();
    const auto is_part = [&row](const std::string& text) {
      return row.name.find(text) != std::string::npos;
    };
    const bool other_row = !a.rows.empty() && std::ranges::none_of(a.rows, is_part);
    return other_family || other_row || row.system.find(a.system) == std::string::npos;
  });
  if (rows.empty()) {
    throw core::InputError("--accelerator, --row",
                           fmt::format("no row of {} is on \"{}\" and has such a name; expected "
                                       "part of a system's name, e.g. h100, and of rows' names",
                                       file, a.system));
  }
  return rows;
}

int run_validate(const ValidateArguments& a, const Console& console, pdes::Transport& transport) {
  if (transport.ranks() > 1) {
    throw core::InputError("validate", "runs on one rank; expected --threads N without mpirun");
  }
  if (a.serving) return run_serving_validation(a, console);
  Validation validation{.rows = chosen_rows(a), .results = {}};
  if (a.mine.empty()) {
    validation.trends = read_trends(find_below_configs(a.trends_file),
                                    read_validation(find_below_configs(a.suite)));
  }
  if (!a.out_directory.empty()) prepare_directory(a.out_directory);
  ValidationOptions options{.study_file = find_below_configs(a.study_file),
                            .overrides = a.overrides};
  options.threads = a.threads != 0 ? a.threads : core::discover_machine().workers_max;
  options.progress = [&](std::size_t done, std::size_t all) {
    if (done % 20 == 0 || done == all) {
      console.err << fmt::format("validate: {} of {} rows\n", done, all) << std::flush;
    }
  };
  validation.results = validate(validation.rows, options);
  if (!a.out_directory.empty()) {
    core::OutputFiles files;
    files.add(a.out_directory + "/validation.json", validation_json(validation));
    files.add(a.out_directory + "/validation.svg", validation_svg(validation));
    files.commit();
  }
  console.out << (a.json ? validation_json(validation) : validation_text(validation)) << std::flush;
  return 0;
}

}  // namespace exawarp::io
