#include "io/cli/commands/capacity.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <ostream>

#include "core/error.h"
#include "io/cli/status_line.h"
#include "io/life/agreement.h"
#include "io/life/capacity.h"
#include "io/report/result_files.h"
#include "io/study/find_config.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

// KEY=V,V,...: what --over has.
void add_over(const CapacityArguments& a, CapacityOptions& out) {
  const std::size_t equals = a.over.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == a.over.size()) {
    throw core::InputError("--over", "\"" + a.over + "\" is no key with values; expected e.g. "
                                     "serving.batch_requests_max=16,32,64");
  }
  out.key = a.over.substr(0, equals);
  std::string rest = a.over.substr(equals + 1);
  while (true) {
    const std::size_t comma = rest.find(',');
    out.values.push_back(rest.substr(0, comma));
    if (out.values.back().empty()) {
      throw core::InputError("--over", "\"" + a.over + "\" has an empty value; expected one "
                                       "between two commas");
    }
    if (comma == std::string::npos) return;
    rest.erase(0, comma + 1);
  }
}

CapacityOptions capacity_of(const CapacityArguments& a) {
  CapacityOptions out{.tolerance = a.tolerance,
                      .key = {},
                      .values = {},
                      .job = a.job,
                      .split = a.split,
                      .below = a.below,
                      .database = a.database};
  if (!a.over.empty()) add_over(a, out);
  const auto layouts = [&](const std::string& option, const std::string& text) {
    if (text.empty()) return std::vector<SplitLayout>{};
    if (a.split == 0) throw core::InputError(option, "has no effect without --split DEVICES");
    return parse_layouts(option, text);
  };
  out.prompts = layouts("--prompts", a.prompts);
  out.decodes = layouts("--decodes", a.decodes);
  return out;
}

}  // namespace

int run_capacity(const CapacityArguments& a, const Console& console, pdes::Transport& transport) {
  CapacityOptions capacity;
  std::string file;
  ResolvedYaml resolved;
  agree(transport, [&] {
    capacity = capacity_of(a);
    file = find_config(a.study_file, kCapacityFolders);
  });
  StatusLine status(console);
  std::size_t tried = 0;
  capacity.progress = [&](const std::string& setting, const CapacityPoint& point) {
    const std::chrono::duration<double> elapsed = TimeLimit::Clock::now() - console.started;
    ++tried;
    if (transport.rank().value != 0 || !status.is_due(elapsed.count())) return;
    status.show(elapsed.count(), fmt::format("{:.0f} s: {} rates tried, last {:.4g} a second{}{}",
                                             elapsed.count(), tried, point.rate,
                                             setting.empty() ? "" : ", ", setting));
  };
  std::optional<ResultFiles> files;
  if (transport.rank().value == 0 && !a.out_directory.empty()) {
    capacity.ready = [&](const ResolvedYaml& study) {
      ResultFiles::Paths paths;
      paths.directory = a.out_directory;
      paths.replace = a.force;
      files.emplace(paths, study);
      resolved = study;
    };
  }
  const CapacityReport report = find_capacity(file, a.overrides, capacity,
                                              with_console(a.options, console), transport);
  status.erase();
  if (transport.rank().value == 0) {
    if (report.is_stopped) {
      console.err << fmt::format("{}: host time ran out (--time-limit) when {} rates had been "
                                 "tried; a longer limit would help\n",
                                 file, tried);
    }
    const std::string text = printable(capacity_text(report)), json = capacity_json(report);
    const auto write = [&] {
      if (files) files->write(resolved, text, json);
    };
    write_and_print(write, [&] { console.out << (a.json ? json : text) << std::flush; });
  }
  return exit_code_of(report.is_stopped ? RunStatus::stopped : RunStatus::finished);
}

}  // namespace exawarp::io
