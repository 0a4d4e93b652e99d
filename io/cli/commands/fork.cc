// The unchanged future first, then each of the others: simulated as `exawarp run --restart` would,
// its results written, and the first event looked for that sets it apart.
#include "io/cli/commands/fork.h"

#include <fmt/format.h>

#include <ostream>

#include "core/error.h"
#include "io/cli/progress.h"
#include "io/life/departure.h"
#include "io/life/fork.h"
#include "io/report/fork_report.h"
#include "io/report/result_files.h"
#include "io/report/text_summary.h"
#include "io/study/find_config.h"
#include "io/study/fork_file.h"
#include "io/study/in_file.h"
#include "io/study/suggest.h"
#include "model/event_text.h"

namespace exawarp::io {
namespace {

constexpr const char* kUnchanged = "unchanged";

class Forking {
 public:
  Forking(const ForkArguments& a, const Console& console, pdes::Transport& transport)
      : a_(a),
        console_(console),
        transport_(transport),
        fork_(read_fork_file(find_config(a.variants, kForkFolders))),
        from_(newest_checkpoint(a.checkpoint, transport), "run"),
        directory_(a.out_directory.empty() ? "results/" + fork_.name : a.out_directory) {
    report_.name = fork_.name;
    report_.checkpoint = from_.path();
    report_.at = from_.totals().at;
    // All that is wrong with any of them is told before the first is simulated.
    add({.name = kUnchanged, .at = {}, .set = {}});
    for (const FutureSpec& spec : fork_.futures) add(spec);
  }

  // Returns an exit code.
  int run() {
    for (std::size_t i = 0; i < futures_.size(); ++i) {
      console_.err << fmt::format("{} ({} of {})\n", specs_[i].name, i + 1, futures_.size())
                   << std::flush;
      RunReport report = simulated(i);
      report_.futures.push_back(result_of(i, report));
      if (report.status == RunStatus::stopped) return exit_code_of(report);
      if (i == 0) {
        usual_ = std::move(report);
      } else {
        report_.futures.back().departure = departure_of(i, report);
      }
    }
    return kDone;
  }
  [[nodiscard]] const ForkReport& report() const { return report_; }

 private:
  // What is wrong with a future is so in the file of all.
  template <class Work>
  auto in_future(const FutureSpec& spec, const Work& work) {
    try {
      return work();
    } catch (const core::InputError& error) {
      throw core::InputError(
          fmt::format("{}: future {}: {}", fork_.file, in_quotes(spec.name), error.what()));
    }
  }
  void add(const FutureSpec& spec) {
    futures_.push_back(in_future(spec, [&] { return future_of(from_, spec.set, spec.at); }));
    specs_.push_back(spec);
  }

  RunReport simulated(std::size_t i) {
    const Study& study = futures_[i].study;
    ProgressPrinter progress(console_);
    RunOptions options = with_console(a_.options, console_);
    options.restart = &from_;
    options.forks = futures_[i].forks;
    std::optional<ResultFiles> files;
    options.ready = [&](std::uint64_t events) {
      progress.expect(events);
      files.emplace(ResultFiles::Paths{.directory = directory_ + "/" + specs_[i].name,
                                       .stats = {},
                                       .counters = {},
                                       .power = {},
                                       .timeline = {},
                                       .replace = a_.force},
                    study.resolved);
    };
    options.measure = [&](const auto& share_done) { progress.measure(share_done); };
    options.progress = std::ref(progress);
    RunReport report = in_future(specs_[i], [&] { return simulate(study, options, transport_); });
    report.directory = files->directory();
    report.command_line = a_.command_line;
    report.overrides = specs_[i].set;
    progress.finish();
    files->write(report, printable(text_summary(report)), summary_json(report));
    return report;
  }

  [[nodiscard]] FutureResult result_of(std::size_t i, const RunReport& report) const {
    const std::vector<StudyChange>& changes = report.study->changes;
    FutureResult out{.name = specs_[i].name,
                     .at = futures_[i].forks ? changes.back().at : from_.totals().at,
                     .set = specs_[i].set,
                     .status = report.status,
                     .simulated = report.outcome->simulated_time(),
                     .digest = core::to_hex(report.result.digest),
                     .directory = report.directory,
                     .devices = report.outcome->devices()};
    const model::ClassTotals total = report.outcome->total();
    for (std::size_t c = 0; c < model::kTimeClassCount; ++c) {
      const auto ps =
          static_cast<double>(report.outcome->time_in(total, static_cast<model::TimeClass>(c)));
      out.device_s.push_back(ps / static_cast<double>(core::kPicosecondsPerSecond));
    }
    return out;
  }

  [[nodiscard]] std::optional<DepartureText> departure_of(std::size_t i,
                                                          const RunReport& report) const {
    const core::Time last = std::max(usual_.result.last_event, report.result.last_event);
    const auto found = find_departure({.from = from_,
                                       .first = model_of(*usual_.cluster, usual_.changed.get()),
                                       .second = model_of(*report.cluster, report.changed.get()),
                                       .atoms = report.cluster->atom_count(),
                                       .atom_shift = report.cluster->atom_shift(),
                                       .seed = report.study->engine.seed,
                                       .begin = report_.futures[i].at,
                                       .end = last + core::Time{1}});
    if (!found) return {};
    model::EventText text = model::text_of(*report.cluster, found->event);
    return DepartureText{.at = found->event.receive_time,
                         .where = std::move(text.where),
                         .what = std::move(text.what),
                         .only_here = !found->of_first,
                         .other_time = found->other_time};
  }

  const ForkArguments& a_;
  const Console& console_;
  pdes::Transport& transport_;
  ForkFile fork_;
  Checkpoint from_;
  std::string directory_;
  std::vector<FutureSpec> specs_;
  std::vector<Future> futures_;
  RunReport usual_;
  ForkReport report_;
};

}  // namespace

int run_fork(const ForkArguments& a, const Console& console, pdes::Transport& transport) {
  if (transport.ranks() > 1) {
    throw core::InputError("fork", "runs on one rank; expected --threads N without mpirun");
  }
  Forking forking(a, console, transport);
  const int exit_code = forking.run();
  const ForkReport& report = forking.report();
  console.out << (a.json ? fork_json(report) : printable(fork_text(report))) << std::flush;
  return exit_code;
}

}  // namespace exawarp::io
