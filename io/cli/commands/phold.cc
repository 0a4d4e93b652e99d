#include "io/cli/commands/phold.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <optional>
#include <ostream>

#include "core/error.h"
#include "io/life/agreement.h"
#include "io/life/simulate.h"
#include "io/report/text_summary.h"

namespace exawarp::io {
namespace {

core::Time end_of(const PholdArguments& a) {
  constexpr auto kUnit_ps = static_cast<double>(pdes::kPholdUnit.ps);
  const double end_ps = a.end * kUnit_ps;
  if (!(end_ps <= static_cast<double>(core::kEndOfTime.ps))) {
    throw core::InputError(
        "--end", fmt::format("\"{:g}\" is later than {}; expected at most {:g}", a.end,
                             core::kEndOfTimeText,
                             static_cast<double>(core::kEndOfTime.ps) / kUnit_ps));
  }
  return core::Time{std::llround(end_ps)};
}

}  // namespace

PholdRun phold_run_of(const PholdArguments& a) {
  return {.phold = {.lps = a.lps, .start_events = a.start_events, .remote = a.remote},
          .end = end_of(a)};
}

int run_phold(const PholdArguments& a, const Console& console, pdes::Transport& transport) {
  const bool first_rank = transport.rank().value == 0;
  PholdRun run;
  std::optional<Checkpoint> restart;
  const std::string from = newest_checkpoint(a.restart, transport);
  agree(transport, [&] {
    run = a.restart.empty() ? phold_run_of(a) : phold_run_of(restart.emplace(from, "phold"));
  });
  std::unique_ptr<core::OutputFile> stats;
  RunOptions options = with_console(a.options, console);
  if (restart) {
    options.restart = &*restart;
    options.seed = run.phold.seed;
  }
  options.ready = [&](std::uint64_t) {
    if (!a.stats.path.empty() && first_rank) stats = open_table(a.stats.path);
  };
  const PholdReport report = simulate(run, options, transport);
  agree(transport, [&] {
    if (!first_rank) return;
    const auto write = [&] {
      if (stats) write_stats(report.result.series, *stats);
    };
    write_and_print(write, [&] {
      console.out << (a.json ? phold_json(report) : phold_text(report)) << std::flush;
    });
  });
  if (report.status == RunStatus::stopped && first_rank) {
    const std::string reached =
        "at simulated time " + core::format_time(report.result.last_event);
    console.err << stopped_text(report, "phold", reached) << std::flush;
  }
  return exit_code_of(report);
}

}  // namespace exawarp::io
