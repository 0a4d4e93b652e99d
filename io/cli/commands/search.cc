// Two sweeps: of all layouts, folded; then of the best, as the search says. Each has a database, so
// that whatever ends the program, the same command goes on.
#include "io/cli/commands/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <ostream>
#include <system_error>

#include "core/error.h"
#include "core/machine.h"
#include "core/stop_signal.h"
#include "io/cli/option_values.h"
#include "io/cli/progress.h"
#include "io/life/sweep.h"
#include "io/report/search_report.h"
#include "io/report/sweep_report.h"
#include "io/study/find_config.h"
#include "io/study/search.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

std::string database_of(const SearchArguments& a, const Search& search) {
  if (!a.database.empty()) return a.database;
  std::error_code error;
  std::filesystem::create_directories("results", error);
  if (error) throw core::SystemError("results: cannot make the folder: " + error.message());
  return "results/" + search.sweep.name + ".db";
}

// Beside the other: a number of layouts at a fidelity is a sweep of its own.
std::string verified_database_of(const std::string& database, const Search& search) {
  std::filesystem::path path = database;
  path.replace_extension();
  return fmt::format("{}.best_{}_{}.db", path.string(), search.best,
                     core::name_of(search.fidelity));
}

// False: it was stopped.
bool fill(const SearchArguments& a, const Console& console, const Sweep& sweep,
          const std::string& path) {
  SweepDatabase database(path, sweep);
  StatusLine status(console);
  SweepOptions options{.jobs = a.jobs, .time_limit_s = a.time_limit_s};
  if (options.jobs == 0) options.jobs = std::max(1u, core::discover_machine().workers_max);
  options.progress = [&status](const SweepProgress& progress) {
    if (!status.is_due(progress.elapsed_s)) return;
    status.show(progress.elapsed_s, progress_line(progress));
  };
  return run_sweep(sweep, database, options);
}

std::vector<std::vector<std::string>> best_layouts(const SearchOutcome& outcome) {
  std::vector<std::vector<std::string>> points;
  for (const SweepPoint& point : best_points(outcome.folded, outcome.best)) {
    points.push_back(point.values);
  }
  return points;
}

}  // namespace

int run_search_command(const SearchArguments& a, const Console& console,
                       pdes::Transport& transport) {
  if (transport.ranks() > 1) {
    throw core::InputError("exawarp search", "runs on one rank; expected --jobs N without mpirun");
  }
  const auto start = std::chrono::steady_clock::now();
  Search search = read_search(find_config(a.file, kSearchFolders), a.overrides);
  if (a.best) search.best = *a.best;
  if (!a.verify.empty()) search.fidelity = parse_choice<VerifyFidelity>("--verify", a.verify);
  const std::string path = database_of(a, search);
  const core::StopOnSignals stop;
  bool complete = fill(a, console, search.sweep, path);
  SearchOutcome outcome{.combinations = search.combinations,
                        .impossible = search.impossible,
                        .data_key = search.sweep.axes.back().key,
                        .folded = read_sweep_results({path}, search_measures()),
                        .best = search.best,
                        .fidelity = std::string(core::name_of(search.fidelity)),
                        .verified = {}};
  const std::chrono::duration<double> folded_s = std::chrono::steady_clock::now() - start;
  std::string files = path + '\n';
  const std::vector<std::vector<std::string>> layouts = best_layouts(outcome);
  if (complete && !layouts.empty()) {
    const std::string verified = verified_database_of(path, search);
    complete = fill(a, console, verification_of(search, layouts), verified);
    outcome.verified = read_sweep_results({verified}, search_measures());
    files += verified + '\n';
  }
  console.out << printable(search_text(outcome))
              << fmt::format("\nfolded in {:.1f} s of host time by this command\n",
                             folded_s.count())
              << files << std::flush;
  if (complete) return kDone;
  console.err << fmt::format("{}: stopped by {}; the same command goes on\n", a.file,
                             core::signal_name(core::stop_signal()))
              << std::flush;
  return kStoppedWithCheckpoint;
}

}  // namespace exawarp::io
