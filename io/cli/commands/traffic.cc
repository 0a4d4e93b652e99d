#include "io/cli/commands/traffic.h"

#include <memory>
#include <optional>
#include <ostream>

#include "io/life/agreement.h"
#include "io/life/simulate.h"
#include "io/report/port_counters_file.h"
#include "io/study/find_config.h"
#include "io/study/in_file.h"
#include "io/study/numbers.h"
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
    console.err << stopped_text(report, report.study->file, reached) << std::flush;
  }
}

// Throws core::InputError where another is asked for.
std::uint64_t seed_of(const Checkpoint& restart, const TrafficArguments& a) {
  const auto seed = unsigned_from(restart.argument("seed"));
  if (!seed) throw core::InputError(restart.path(), "has no number as its seed");
  if (a.options.seed.value_or(*seed) == *seed) return *seed;
  throw core::InputError("--seed", "is what the checkpoint says; expected --restart without it");
}

}  // namespace

int run_traffic(const TrafficArguments& a, const Console& console, pdes::Transport& transport) {
  const bool first_rank = transport.rank().value == 0;
  TrafficStudy study;
  std::optional<Checkpoint> restart;
  RunOptions options = with_console(a.options, console);
  const std::string from = newest_checkpoint(a.restart, transport);
  agree(transport, [&] {
    if (!from.empty()) {
      options.restart = &restart.emplace(from, "traffic");
      options.seed = seed_of(*restart, a);
    }
    const std::string file =
        restart ? restart->study_file() : find_config(a.study_file, kTrafficFolders);
    study = in_file(file, [&] { return read_traffic_study(file, a.overrides); });
  });
  std::unique_ptr<core::OutputFile> counters;
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
