#include "io/cli/commands/calibrate.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <ostream>
#include <set>

#include "core/error.h"
#include "core/machine.h"
#include "core/output_file.h"
#include "io/life/calibration.h"
#include "io/report/calibration_report.h"
#include "io/study/find_config.h"
#include "io/study/suggest.h"
#include "io/study/yaml.h"

namespace exawarp::io {
namespace {

void check_fitted(const std::vector<std::string>& fitted) {
  const std::vector<std::string> keys = fitted_keys();
  for (const std::string& key : fitted) {
    if (std::ranges::find(keys, key) != keys.end()) continue;
    throw core::InputError("--fit",
                           fmt::format("{} is not known; expected one of: {}{}", in_quotes(key),
                                       fmt::join(keys, ", "), did_you_mean(key, keys)));
  }
  const std::set<std::string> different(fitted.begin(), fitted.end());
  if (fitted.size() > kFittedMax || different.size() < fitted.size()) {
    throw core::InputError("--fit", fmt::format("asks for {}; expected at most {} different ones",
                                                fmt::join(fitted, ", "), kFittedMax));
  }
}

// Before the fit, which may take minutes.
void check_output(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty() || std::filesystem::is_directory(folder)) return;
  throw core::InputError("--output", fmt::format("{} is in no folder; expected a file in one that "
                                                 "exists",
                                                 in_quotes(path)));
}

// That of the output, which becomes the calibration's name.
std::string name_of(const std::string& path) {
  const std::string stem = std::filesystem::path(path).stem().string();
  const bool plain = std::ranges::all_of(stem, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
  return plain && !stem.empty() ? stem : "calibration";
}

}  // namespace

int run_calibrate(const CalibrateArguments& a, const Console& console, pdes::Transport& transport) {
  if (transport.ranks() > 1) {
    throw core::InputError("calibrate", "runs on one rank; expected --threads N without mpirun");
  }
  check_fitted(a.fitted);
  check_output(a.output);
  const std::vector<ValidationRow> rows = chosen_rows(a.rows);
  CalibrationOptions options{
      .validation = {.study_file = find_below_configs(a.rows.study_file),
                     .overrides = a.rows.overrides},
      .fitted = a.fitted,
      .leave_one_out = a.leave_one_out,
      .progress = [&](std::string_view what) {
        console.err << fmt::format("calibrate: {}\n", what) << std::flush;
      }};
  options.validation.threads =
      a.rows.threads != 0 ? a.rows.threads : core::discover_machine().workers_max;
  const CalibrationResult result = calibrate(rows, options);
  if (!a.output.empty()) {
    const std::string& file = a.rows.mine.empty() ? a.rows.suite : a.rows.mine;
    core::write_file(
        a.output,
        calibration_yaml(result, {.name = name_of(a.output),
                                  .rows = std::filesystem::path(file).filename().string(),
                                  .date = fmt::format("{:%F}", fmt::gmtime(std::time(nullptr)))}));
  }
  console.out << calibration_text(result) << std::flush;
  return 0;
}

}  // namespace exawarp::io
