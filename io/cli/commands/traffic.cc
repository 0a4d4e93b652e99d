#include "io/cli/commands/traffic.h"

#include <memory>
#include <optional>
#include <ostream>

#include "io/life/agreement.h"
#include "io/life/simulate.h"
#include "io/report/flows_file.h"
#include "io/report/port_counters_file.h"
#include "io/report/result_files.h"
#include "io/study/find_config.h"
#include "io/study/in_file.h"
#include "io/study/numbers.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

// What was asked for, opened before the first event. Rank 0 only.
struct TrafficFiles {
  std::optional<ResultFiles> results;
  std::unique_ptr<core::OutputFile> counters, flows;
};

void open_files(const TrafficArguments& a, const TrafficStudy& study, const RunOptions& options,
                TrafficFiles& files) {
  if (!a.counters.empty()) files.counters = open_table(a.counters);
  if (!a.flows.empty()) files.flows = open_table(a.flows);
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
void publish(const TrafficReport& report, const TrafficArguments& a, TrafficFiles& files,
             const Console& console) {
  const std::string text = printable(traffic_text(report)), json = traffic_json(report);
  const auto write = [&] {
    if (files.results) files.results->write(report.study->resolved, text, json);
    if (files.counters) {
      write_port_counters(report.traffic->packet_network(), *report.counters, *files.counters);
    }
    if (files.flows) write_flows(*report.flows, *files.flows);
  };
  write_and_print(write, [&] { console.out << (a.json ? json : text) << std::flush; });
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
    if (!a.counters.empty() && study.fidelity == model::TrafficFidelity::flow) {
      throw core::InputError("--counters", "only packets are counted by port; expected " + file +
                                               " with fidelity: packet");
    }
  });
  TrafficFiles files;
  options.count_ports = !a.counters.empty();
  options.ready = [&](std::uint64_t) {
    if (first_rank) open_files(a, study, options, files);
  };
  const TrafficReport report = simulate(study, options, transport);
  agree(transport, [&] {
    if (first_rank) publish(report, a, files, console);
  });
  return exit_code_of(report);
}

}  // namespace exawarp::io
