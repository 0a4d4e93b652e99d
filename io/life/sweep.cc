// One loop starts points while there is room, waits for what they write, and records how they
// ended.
//
// Why processes and not threads: a point that crashes or exhausts the memory is a row with its
// reason, and the sweep goes on. Starting one costs a millisecond, as it shares all that has been
// loaded with this process.
#include "io/life/sweep.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/digest.h"
#include "core/stop_signal.h"
#include "io/life/child_process.h"
#include "io/life/failure.h"
#include "io/life/simulate.h"
#include "io/report/results.h"
#include "io/study/in_file.h"
#include "io/study/suggest.h"
#include "pdes/transport.h"

namespace exawarp::io {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

constexpr int kPollPeriod_ms = 200;  // a signal is noticed by then, too

double elapsed_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Why a simulation that came to an end has not finished its work.
std::string reason_of(const RunReport& report) {
  if (report.status == RunStatus::deadlocked) return "deadlocked";
  if (report.status == RunStatus::stopped) return "host time ran out (--time-limit)";
  return "";
}

// In the child: what it sends to its parent.
int simulate_point(const Sweep& sweep, const SweepOptions& options,
                   const std::vector<std::string>& point, std::string& result) {
  try {
    const std::vector<std::string> overrides = overrides_of(sweep, point);
    Study study =
        in_file(sweep.study_file, [&] { return read_study(sweep.study_file, overrides); });
    share_tables(sweep, study);
    const auto transport = pdes::make_single_transport();
    RunOptions run{.threads = options.threads, .time_limit_s = options.time_limit_s};
    if (options.threads == 1) run.sync = pdes::Sync::sequential;
    RunReport report = simulate(study, run, *transport);
    report.overrides = overrides;
    report.command_line = {"run", sweep.study_file};
    for (const std::string& setting : overrides) {
      report.command_line.insert(report.command_line.end(), {"--set", setting});
    }
    result = Json{{"reason", reason_of(report)},
                  {"digest", core::to_hex(report.result.digest)},
                  {"study", study.resolved.text},
                  {"summary", summary_json(report)}}
                 .dump(-1, ' ', false, Json::error_handler_t::replace);
    return exit_code_of(report);
  } catch (...) {
    const Failure failure = failure_of(std::current_exception());
    result = Json{{"reason", one_line(failure.text)}}.dump(-1, ' ', false,
                                                           Json::error_handler_t::replace);
    return failure.exit_code;
  }
}

// In the parent: what became of it.
PointOutcome outcome_of(const ChildEnd& end, double wall_s) {
  PointOutcome out{.exit_code = end.exit_code, .wall_s = wall_s};
  const Json result = Json::parse(end.result, nullptr, false);
  if (end.signal != 0 || !result.is_object()) {
    const std::string how = end.signal != 0 ? "ended by " + core::signal_name(end.signal)
                                            : fmt::format("ended by exit code {}", end.exit_code);
    out.reason = end.last_words.empty() ? how : how + ": " + one_line(end.last_words);
    return out;
  }
  out.reason = result.value("reason", "");
  out.digest = result.value("digest", "");
  out.study = result.value("study", "");
  out.summary = result.value("summary", "");
  return out;
}

// The points that run now.
class Running {
 public:
  struct Point {
    std::int64_t number;
    ChildProcess child;
    Clock::time_point started = Clock::now();
  };

  void add(Point point) { points_.push_back(std::move(point)); }
  [[nodiscard]] std::size_t count() const { return points_.size(); }
  [[nodiscard]] const std::vector<Point>& all() const { return points_; }

  // Waits until one has ended or a moment is over; takes out those that have.
  std::vector<Point> ended() {
    std::vector<pollfd> wanted;
    for (const Point& point : points_) wanted.push_back({point.child.descriptor(), POLLIN, 0});
    if (poll(wanted.data(), wanted.size(), kPollPeriod_ms) <= 0) return {};
    std::vector<Point> ended, others;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const bool goes_on = wanted[i].revents == 0 || points_[i].child.read();
      (goes_on ? others : ended).push_back(std::move(points_[i]));
    }
    points_ = std::move(others);
    return ended;
  }

 private:
  std::vector<Point> points_;
};

}  // namespace

bool run_sweep(const Sweep& sweep, SweepDatabase& database, const SweepOptions& options) {
  const Clock::time_point start = Clock::now();
  std::vector<std::int64_t> pending = database.pending();
  std::erase_if(pending, [&](std::int64_t number) { return number > options.last; });
  auto next = pending.begin();
  SweepProgress progress{.done = database.count(PointState::done),
                         .failed = database.count(PointState::failed)};
  progress.all = progress.done + progress.failed + static_cast<std::int64_t>(pending.size());
  Running running;
  while ((next != pending.end() || running.count() != 0) && !core::stop_asked()) {
    while (next != pending.end() && running.count() < options.jobs) {
      const std::int64_t number = *next++;
      const auto& point = sweep.points[static_cast<std::size_t>(number - 1)];
      database.begin(number);
      running.add({number, ChildProcess([&](std::string& result) {
                     return simulate_point(sweep, options, point, result);
                   })});
    }
    for (Running::Point& point : running.ended()) {
      const PointOutcome outcome = outcome_of(point.child.wait(), elapsed_since(point.started));
      database.finish(point.number, outcome);
      ++(outcome.reason.empty() ? progress.done : progress.failed);
      ++progress.ended_here;
    }
    progress.running = static_cast<std::int64_t>(running.count());
    progress.elapsed_s = elapsed_since(start);
    if (options.progress) options.progress(progress);
  }
  for (const Running::Point& point : running.all()) database.put_back(point.number);
  return progress.done + progress.failed == progress.all;
}

}  // namespace exawarp::io
