#include "io/cli/commands/traffic.h"

#include <memory>
#include <ostream>

#include "io/life/agreement.h"
#include "io/life/simulate.h"
#include "io/report/port_counters_file.h"
#include "io/study/find_config.h"
#include "io/study/in_file.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

// Rank 0 only.
void publish(const TrafficReport& report, const TrafficArguments& a, core::OutputFile* counters,
             const Console& console) {
  const auto write = [&] {
    if (counters == nullptr) return;
    write_port_counters(report.traffic->packet_network(), *report.counters, *counters);
  };
  write_and_print(write, [&] {
    console.out << (a.json ? traffic_json(report) : printable(traffic_text(report)))
                << std::flush;
  });
  if (report.status == RunStatus::deadlocked) console.err << unfinished_text(report) << std::flush;
  if (report.status == RunStatus::stopped) {
    const std::string reached =
        "at simulated time " + core::format_time(report.result.last_event);
    console.err << stopped_text(report, a.study_file, reached) << std::flush;
  }
}

}  // namespace

int run_traffic(const TrafficArguments& a, const Console& console, pdes::Transport& transport) {
  const bool first_rank = transport.rank().value == 0;
  TrafficStudy study;
  agree(transport, [&] {
    study = in_file(a.study_file, [&] {
      return read_traffic_study(find_config(a.study_file, kTrafficFolders), a.overrides);
    });
  });
  std::unique_ptr<core::OutputFile> counters;
  RunOptions options = with_console(a.options, console);
  options.count_ports = !a.counters.empty();
  options.ready = [&](std::uint64_t) {
    if (options.count_ports && first_rank) counters = open_table(a.counters);
  };
  const TrafficReport report = simulate(study, options, transport);
  agree(transport, [&] {
    if (first_rank) publish(report, a, counters.get(), console);
  });
  return exit_code_of(report);
}

}  // namespace exawarp::io
