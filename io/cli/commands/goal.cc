#include "io/cli/commands/goal.h"

#include <fmt/format.h>

#include <optional>
#include <ostream>

#include "io/life/agreement.h"
#include "io/life/simulate.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

// Rank 0 only.
void print(const GoalReport& report, const GoalRun& run, const GoalArguments& a,
           const Console& console) {
  console.out << (a.json ? goal_json(report) : printable(goal_text(report))) << std::flush;
  if (report.status == RunStatus::deadlocked) {
    console.err << printable(unmatched_text(report)) << std::flush;
  }
  if (report.status == RunStatus::stopped) {
    const std::string reached =
        fmt::format("with {} operations to go", report.outcome->unfinished());
    console.err << stopped_text(report, run.file, reached) << std::flush;
  }
}

}  // namespace

int run_goal(const GoalArguments& a, const Console& console, pdes::Transport& transport) {
  GoalRun run{.file = a.file};
  RunOptions options = with_console(a.options, console);
  std::optional<Checkpoint> restart;
  const std::string from = newest_checkpoint(a.restart, transport);
  agree(transport, [&] {
    if (!from.empty()) {
      run = goal_run_of(restart.emplace(from, "goal"));
      options.restart = &*restart;
      return;
    }
    run.parameters = read_goal_parameters(a.parameters);
    run.parameters.as_loggopsim = a.as_loggopsim;
  });
  const GoalReport report = simulate(run, options, transport);
  if (transport.rank().value == 0) print(report, run, a, console);
  return exit_code_of(report);
}

}  // namespace exawarp::io
