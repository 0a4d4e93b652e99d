#include "io/cli/commands/serve.h"

#include <memory>
#include <optional>
#include <ostream>

#include "core/units.h"
#include "io/life/agreement.h"
#include "io/life/simulate.h"
#include "io/report/requests_file.h"
#include "io/report/result_files.h"
#include "io/report/stats_file.h"
#include "io/study/find_config.h"
#include "io/study/in_file.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

// What was asked for, opened before the first event. Rank 0 only.
struct ServeFiles {
  std::optional<ResultFiles> results;
  std::unique_ptr<core::OutputFile> requests, series;
};

void open_files(const ServeArguments& a, const ServingStudy& study, const RunOptions& options,
                ServeFiles& files) {
  if (!a.requests.requests.empty()) files.requests = open_table(a.requests.requests);
  if (!a.requests.series.empty()) files.series = open_table(a.requests.series);
  if (a.out_directory.empty()) return;
  ResultFiles::Paths paths;
  paths.directory = a.out_directory;
  paths.replace = a.force;
  files.results.emplace(paths, study.resolved);
  if (files.results->directory() != a.out_directory) {
    options.notify(a.out_directory + ": holds the results of another study; these go to " +
                   files.results->directory() + " (--force replaces)");
  }
}

// Rank 0 only.
void publish(const ServingReport& report, const ServeArguments& a, ServeFiles& files,
             const Console& console) {
  const std::string text = printable(serving_text(report)), json = serving_json(report);
  const auto write = [&] {
    if (files.results) files.results->write(report.study->resolved, text, json);
    const std::vector<AskedOfJob> asked{{.job = {}, .asked = asked_of(report)}};
    if (files.requests) write_requests(asked, *files.requests);
    if (files.series) write_requests_series(asked, a.requests.width, *files.series);
  };
  write_and_print(write, [&] { console.out << (a.json ? json : text) << std::flush; });
  if (report.status == RunStatus::stopped) {
    const std::string reached =
        "at simulated time " + core::format_time(report.result.last_event);
    console.err << stopped_text(report, report.study->file, reached) << std::flush;
  }
}

}  // namespace

int run_serve(const ServeArguments& a, const Console& console, pdes::Transport& transport) {
  const bool first_rank = transport.rank().value == 0;
  ServingStudy study;
  RunOptions options = with_console(a.options, console);
  agree(transport, [&] {
    const std::string file = find_config(a.study_file, kServingFolders);
    study = in_file(file, [&] { return read_serving_study(file, a.overrides); });
  });
  ServeFiles files;
  options.ready = [&](std::uint64_t) {
    if (first_rank) open_files(a, study, options, files);
  };
  const ServingReport report = simulate(study, options, transport);
  agree(transport, [&] {
    if (first_rank) publish(report, a, files, console);
  });
  return exit_code_of(report);
}

}  // namespace exawarp::io
