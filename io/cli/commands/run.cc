// `exawarp run`: the study with what the arguments replace in it, simulate(), then the files of
// the results and what people read.
#include "io/cli/commands/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <ostream>
#include <utility>

#include "core/error.h"
#include "io/cli/progress.h"
#include "io/life/agreement.h"
#include "io/life/fork.h"
#include "io/life/simulate.h"
#include "io/report/result_files.h"
#include "io/report/text_summary.h"
#include "io/study/find_config.h"
#include "io/study/in_file.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

// What the command line says goes before what the study says, and is part of it.
std::vector<std::string> overrides_of(const RunArguments& a) {
  std::vector<std::string> all = a.overrides;
  if (a.placement) {
    all.push_back(fmt::format("placement.method={}", core::name_of(*a.placement)));
  }
  if (a.ignore_memory) all.emplace_back("memory.ignore=true");
  if (a.options.seed) all.push_back(fmt::format("seed={}", *a.options.seed));
  return all;
}

bool serves(const JobConfig& job) { return job.serving != nullptr; }

Future study_of(const RunArguments& a, const Checkpoint* restart) {
  Future out;
  if (restart != nullptr) {
    out = future_of(*restart, overrides_of(a));
  } else {
    const std::string file = find_config(a.study_file, kStudyFolders);
    out.study = in_file(file, [&] { return read_study(file, overrides_of(a)); });
  }
  const Study& study = out.study;
  if (!a.counters.empty() && study.network_fidelity != NetworkFidelity::packet) {
    throw core::InputError("--counters", "only packets are counted by port; expected " +
                                             study.file + " with network.fidelity: packet");
  }
  if (!a.messages.empty() && study.folding != model::Folding::off) {
    throw core::InputError("--messages", "devices that stand for others send for them; expected " +
                                             study.file + " with fold: none");
  }
  for (const auto& [option, file] : {std::pair("--requests", &a.requests.requests),
                                     std::pair("--requests-series", &a.requests.series)}) {
    if (!file->empty() && std::ranges::none_of(study.jobs, serves)) {
      throw core::InputError(option, "no job of " + study.file + " serves; expected one that does");
    }
  }
  if (!a.power.empty() && !study.system.accelerator.power.known()) {
    throw core::InputError("--power", "what accelerator \"" + study.system.accelerator.name +
                                          "\" draws is not known; expected one with \"power\"");
  }
  return out;
}

// Rank 0 only. Where the results are printed and the user has not said where to keep them, it is
// no reason to fail that they cannot be kept.
void open_results(const RunArguments& a, const Study& study, const Notify& notify,
                  std::optional<ResultFiles>& files) {
  const bool printed = a.json && a.out_directory.empty() && a.stats.path.empty() &&
                       a.counters.empty() && a.power.empty() && a.timeline.empty() &&
                       a.critical_path.empty() && a.messages.empty() &&
                       a.requests.requests.empty() && a.requests.series.empty();
  const std::string directory =
      a.out_directory.empty() ? "results/" + study.name : a.out_directory;
  try {
    files.emplace(ResultFiles::Paths{.directory = directory,
                                     .stats = a.stats.path,
                                     .counters = a.counters,
                                     .power = a.power,
                                     .timeline = a.timeline,
                                     .path = a.critical_path,
                                     .messages = a.messages,
                                     .requests = a.requests.requests,
                                     .requests_series = a.requests.series,
                                     .requests_series_width = a.requests.width,
                                     .replace = a.force},
                  study.resolved);
  } catch (const core::SystemError& error) {
    if (!printed) throw;
    notify(std::string(error.what()) + "; the results are printed only");
    return;
  }
  if (files->directory() != directory) {
    notify(fmt::format("{}: holds the results of another study; these go to {} (--force replaces)",
                       directory, files->directory()));
  }
}

// Rank 0 only: writes the results and tells the user.
void publish(const RunReport& report, const RunArguments& a, std::optional<ResultFiles>& files,
             const Console& console) {
  const std::string text = printable(text_summary(report)), json = summary_json(report);
  write_and_print([&] { if (files) files->write(report, text, json); },
                  [&] {
                    if (a.json) {
                      console.out << json << std::flush;
                    } else if (!a.quiet) {
                      console.out << text << std::flush;
                    }
                  });
  if (report.timeline != nullptr && report.timeline->cut()) {
    console.err << fmt::format("{}: ends at {}, where it has {} slices; expected fewer devices, "
                               "less time, or more --timeline-slices\n",
                               a.timeline, core::format_time(*report.timeline->cut()),
                               a.options.timeline->slices_max);
  }
  if (report.status == RunStatus::deadlocked) {
    console.err << printable(deadlock_text(report)) << std::flush;
  }
  if (report.status == RunStatus::stopped) {
    const std::string reached =
        "at simulated time " + core::format_time(report.result.last_event);
    console.err << stopped_text(report, report.study->file, reached) << std::flush;
  }
}

}  // namespace

int run_study(const RunArguments& a, const Console& console, pdes::Transport& transport) {
  const bool first_rank = transport.rank().value == 0;
  Future future;
  std::optional<Checkpoint> restart;
  const std::string from = newest_checkpoint(a.restart, transport);
  agree(transport, [&] {
    if (!from.empty()) restart.emplace(from, "run");
    future = study_of(a, restart ? &*restart : nullptr);
  });
  const Study& study = future.study;
  std::optional<ResultFiles> files;
  ProgressPrinter progress(console);
  RunOptions options = with_console(a.options, console);
  if (restart) options.restart = &*restart;
  options.forks = future.forks;
  options.count_ports = !a.counters.empty();
  options.trace_messages = !a.messages.empty();
  options.trace_power = !a.power.empty();
  options.compare_alone = a.compare_alone;
  options.steady_step = a.steady_step;
  options.ready = [&](std::uint64_t events_expected) {
    progress.expect(events_expected);
    if (first_rank) open_results(a, study, options.notify, files);
  };
  options.measure = [&](const auto& share_done) { progress.measure(share_done); };
  if (first_rank && !a.quiet) options.progress = std::ref(progress);
  RunReport report = simulate(study, options, transport);
  if (files) report.directory = files->directory();
  report.command_line = a.command_line;
  report.overrides = overrides_of(a);
  progress.finish();
  agree(transport, [&] {
    if (first_rank) publish(report, a, files, console);
  });
  return exit_code_of(report);
}

}  // namespace exawarp::io
