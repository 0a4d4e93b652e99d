#include "io/cli/commands/astra.h"

#include <fmt/format.h>

#include <ostream>

#include "io/life/simulate.h"

namespace exawarp::io {

int run_astra(const AstraArguments& a, const Console& console, pdes::Transport& transport) {
  const AstraReport report = simulate(a.set_up, with_console(a.options, console), transport);
  console.out << report.lines << std::flush;
  if (report.status == RunStatus::deadlocked) console.err << deadlock_text(report) << std::flush;
  if (report.status == RunStatus::stopped) {
    const std::string reached = fmt::format("at {} ns: {} of {} ranks finished", report.result.end,
                                            report.result.finished, report.npus);
    Ran ran;
    ran.time_limit_s = report.time_limit_s;
    console.err << stopped_text(ran, a.set_up.system, reached) << std::flush;
  }
  return exit_code_of(report.status);
}

}  // namespace exawarp::io
