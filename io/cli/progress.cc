#include "io/cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/units.h"

namespace exawarp::io {

double ProgressPrinter::share(const pdes::Progress& p) const {
  if (events_expected_ == 0) return 0;
  if (share_done_) return share_done_(p.committed_events, events_expected_);
  return std::min(1.0, static_cast<double>(p.committed_events) /
                           static_cast<double>(events_expected_));
}

std::string ProgressPrinter::line(const pdes::Progress& p) const {
  const auto committed = static_cast<double>(p.committed_events);
  const double rate = p.run_s > 0 ? committed / p.run_s : 0;
  std::string text = fmt::format("{:.0f} s: simulated {}, ", p.run_s, core::format_time(p.gvt));
  if (const double done = share(p); done > 0) {
    text += fmt::format("{:.1f} % of the work, ", 100 * done);
    if (done > 0.005) text += fmt::format("{:.0f} s left, ", p.run_s * (1 - done) / done);
  }
  return text + core::format_count(rate) + " events/s";
}

void ProgressPrinter::operator()(const pdes::Progress& p) {
  if (status_.is_due(p.run_s)) status_.show(p.run_s, line(p));
}

std::string progress_line(const SweepProgress& p) {
  std::string text =
      fmt::format("{:.0f} s: {} of {} points", p.elapsed_s, p.done + p.failed, p.all);
  if (p.failed > 0) text += fmt::format(", {} failed", p.failed);
  if (p.ended_here == 0 || p.elapsed_s <= 0) return text;
  const double per_s = static_cast<double>(p.ended_here) / p.elapsed_s;
  const auto left = static_cast<double>(p.all - p.done - p.failed);
  return text + fmt::format(", {:.0f} points/h, {:.0f} s left", 3'600 * per_s, left / per_s);
}

}  // namespace exawarp::io
