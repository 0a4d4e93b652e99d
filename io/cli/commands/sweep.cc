#include "io/cli/commands/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <system_error>

#include "core/error.h"
#include "core/machine.h"
#include "core/output_file.h"
#include "core/stop_signal.h"
#include "io/cli/progress.h"
#include "io/life/sweep.h"
#include "io/report/sweep_report.h"
#include "io/study/find_config.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

std::string database_of(const SweepArguments& a, const Sweep& sweep) {
  if (!a.database.empty()) return a.database;
  const std::filesystem::path folder = "results";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw core::SystemError("results: cannot make the folder: " + error.message());
  const std::string share =
      a.share.of == 1 ? "" : fmt::format(".{}_of_{}", a.share.part, a.share.of);
  return (folder / (sweep.name + share + ".db")).string();
}

int run(const SweepArguments& a, const Console& console) {
  const Sweep sweep = read_sweep(find_config(a.file, kSweepFolders), a.overrides);
  const std::string path = database_of(a, sweep);
  const core::StopOnSignals stop;
  bool complete = false;
  {
    SweepDatabase database(path, sweep, a.share);
    StatusLine status(console);
    SweepOptions options{.jobs = a.jobs, .threads = a.threads, .time_limit_s = a.time_limit_s};
    if (options.jobs == 0) {
      options.jobs = std::max(1u, core::discover_machine().workers_max / a.threads);
    }
    options.progress = [&status](const SweepProgress& progress) {
      if (!status.is_due(progress.elapsed_s)) return;
      status.show(progress.elapsed_s, progress_line(progress));
    };
    complete = run_sweep(sweep, database, options);
  }
  console.out << printable(sweep_text(read_sweep_results({path}, {}))) << path << '\n'
              << std::flush;
  if (complete) return kDone;
  console.err << fmt::format("{}: stopped by {}; the same command goes on\n", a.file,
                             core::signal_name(core::stop_signal()))
              << std::flush;
  return kStoppedWithCheckpoint;
}

std::vector<Measure> with_usual(std::vector<Measure> measures) {
  for (const Measure& usual : usual_measures()) {
    if (std::ranges::find(measures, usual.name, &Measure::name) == measures.end()) {
      measures.push_back(usual);
    }
  }
  return measures;
}

int best(const SweepArguments& a, const Console& console) {
  const SweepResults results = read_sweep_results(a.databases, with_usual(a.by));
  const std::vector<SweepPoint> points =
      a.front ? pareto_points(results, a.by.size()) : best_points(results, a.count);
  console.out << (a.json ? sweep_json(results, points) : printable(points_table(results, points)))
              << std::flush;
  return kDone;
}

int write(const SweepArguments& a, const Console& console) {
  const SweepResults results = read_sweep_results(a.databases, with_usual({}), a.json);
  const std::string text = a.json ? sweep_json(results, results.points) : sweep_csv(results);
  if (a.output.empty()) {
    console.out << text << std::flush;
  } else {
    core::write_file(a.output, text);
  }
  return kDone;
}

}  // namespace

int run_sweep_command(const SweepArguments& a, const Console& console, pdes::Transport& transport) {
  if (transport.ranks() > 1) {
    throw core::InputError("exawarp sweep", "runs on one rank; expected --jobs N without mpirun");
  }
  switch (a.action) {
    case SweepArguments::Action::run:
      return run(a, console);
    case SweepArguments::Action::best:
      return best(a, console);
    case SweepArguments::Action::write:
      return write(a, console);
    case SweepArguments::Action::show:
      break;
  }
  console.out << printable(sweep_text(read_sweep_results(a.databases, {}))) << std::flush;
  return kDone;
}

}  // namespace exawarp::io
