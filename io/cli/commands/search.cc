// Three sweeps: of all layouts, folded; of as many of the best as the second look needs; then of
// the best, as the search says. Each has a database, so that whatever ends the program, the same
// command goes on.
#include "io/cli/commands/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <ostream>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/machine.h"
#include "core/stop_signal.h"
#include "io/cli/option_values.h"
#include "io/cli/progress.h"
#include "io/life/sweep.h"
#include "io/report/search_order.h"
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
std::string database_beside(const std::string& database, const std::string& what) {
  std::filesystem::path path = database;
  path.replace_extension();
  return fmt::format("{}.{}.db", path.string(), what);
}

// The best by another look are others.
std::string verified_name(const Search& search) {
  const std::uint32_t looks = second_looks(search);
  return fmt::format("best_{}_{}{}", search.best, looks == 0 ? "" : fmt::format("of_{}_", looks),
                     core::name_of(search.fidelity));
}

std::vector<std::vector<std::string>> values_of(const std::vector<SweepPoint>& layouts) {
  std::vector<std::vector<std::string>> out;
  for (const SweepPoint& layout : layouts) out.push_back(layout.values);
  return out;
}

// One search as it is carried out, step by step. A step that a signal stops answers false.
class Steps {
 public:
  Steps(const SearchArguments& arguments, const Console& console, const Search& search)
      : arguments_(arguments), console_(console), search_(search) {
    outcome_.combinations = search.combinations;
    outcome_.impossible = search.impossible;
    outcome_.data_key = search.sweep.axes.back().key;
    outcome_.look_again = second_looks(search);
    outcome_.best = search.best;
    outcome_.fidelity = core::name_of(search.fidelity);
    files_.push_back(database_of(arguments, search));
  }

  [[nodiscard]] const SearchOutcome& outcome() const { return outcome_; }
  [[nodiscard]] const std::vector<std::string>& files() const { return files_; }

  // All layouts, folded.
  bool look() {
    const bool complete = fill(search_.sweep, files_.front());
    outcome_.folded = read_sweep_results({files_.front()}, search_measures());
    return complete;
  }

  // As many of the best as it takes, `best` of them at a time.
  bool look_again() {
    const std::vector<SweepPoint> layouts = best_points(outcome_.folded, outcome_.look_again);
    if (layouts.empty()) return true;
    std::vector<double> first;
    for (const SweepPoint& layout : layouts) first.push_back(*layout.figures.front());
    const Sweep sweep = second_look_of(search_, values_of(layouts));
    files_.push_back(
        database_beside(files_.front(), fmt::format("look_again_{}", outcome_.look_again)));
    SweepResults& again = outcome_.again.emplace();
    for (;;) {
      const std::size_t count =
          layouts_to_look_at(first, second_figures(again), outcome_.best, outcome_.look_again);
      if (count == again.points.size()) return true;
      const bool complete = fill(sweep, files_.back(), static_cast<std::int64_t>(count));
      again = read_sweep_results({files_.back()}, search_measures());
      again.points.resize(count);
      if (!complete) return false;
    }
  }

  // The best, as the search says, if the second look has not done just that.
  bool verify() {
    if (outcome_.again && search_.fidelity == VerifyFidelity::folded_message) return true;
    const std::vector<SweepPoint> layouts = best_layouts(outcome_);
    if (layouts.empty() || outcome_.best == 0) return true;
    files_.push_back(database_beside(files_.front(), verified_name(search_)));
    const bool complete = fill(verification_of(search_, values_of(layouts)), files_.back());
    outcome_.verified = read_sweep_results({files_.back()}, search_measures());
    return complete;
  }

 private:
  bool fill(const Sweep& sweep, const std::string& path,
            std::int64_t last = std::numeric_limits<std::int64_t>::max()) {
    SweepDatabase database(path, sweep);
    StatusLine status(console_);
    SweepOptions options{
        .jobs = arguments_.jobs, .time_limit_s = arguments_.time_limit_s, .last = last};
    if (options.jobs == 0) options.jobs = std::max(1u, core::discover_machine().workers_max);
    options.progress = [&status](const SweepProgress& progress) {
      if (!status.is_due(progress.elapsed_s)) return;
      status.show(progress.elapsed_s, progress_line(progress));
    };
    return run_sweep(sweep, database, options);
  }

  const SearchArguments& arguments_;
  const Console& console_;
  const Search& search_;
  SearchOutcome outcome_;
  std::vector<std::string> files_;
};

}  // namespace

int run_search_command(const SearchArguments& a, const Console& console,
                       pdes::Transport& transport) {
  if (transport.ranks() > 1) {
    throw core::InputError("exawarp search", "runs on one rank; expected --jobs N without mpirun");
  }
  const auto start = std::chrono::steady_clock::now();
  Search search = read_search(find_config(a.file, kSearchFolders), a.overrides);
  if (a.look_again) search.look_again = *a.look_again;
  if (a.best) search.best = *a.best;
  if (!a.verify.empty()) search.fidelity = parse_choice<VerifyFidelity>("--verify", a.verify);
  const core::StopOnSignals stop;
  Steps steps(a, console, search);
  bool complete = steps.look();
  const std::chrono::duration<double> folded_s = std::chrono::steady_clock::now() - start;
  complete = complete && steps.look_again() && steps.verify();
  console.out << printable(search_text(steps.outcome()))
              << fmt::format("\nfolded in {:.1f} s of host time by this command\n",
                             folded_s.count());
  for (const std::string& file : steps.files()) console.out << file << '\n';
  console.out << std::flush;
  if (complete) return kDone;
  console.err << fmt::format("{}: stopped by {}; the same command goes on\n", a.file,
                             core::signal_name(core::stop_signal()))
              << std::flush;
  return kStoppedWithCheckpoint;
}

}  // namespace exawarp::io
