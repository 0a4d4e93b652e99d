#include "io/cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>

#include "core/units.h"

namespace exawarp::io {
namespace {

constexpr double kTerminalPeriod_s = 0.25;
constexpr double kPlainPeriod_s = 10;
constexpr const char* kEraseLine = "\r\x1b[K";

}  // namespace

ProgressPrinter::ProgressPrinter(const Console& console)
    : console_(console),
      next_s_(console.err_is_terminal ? kTerminalPeriod_s : kPlainPeriod_s) {}

std::string ProgressPrinter::line(const pdes::Progress& p) const {
  const auto committed = static_cast<double>(p.committed_events);
  const double rate = p.run_s > 0 ? committed / p.run_s : 0;
  std::string text = fmt::format("{:.0f} s: simulated {}, ", p.run_s, core::format_time(p.gvt));
  if (events_expected_ > 0) {
    const double share = std::min(1.0, committed / static_cast<double>(events_expected_));
    text += fmt::format("{:.1f} % of the work, ", 100 * share);
    if (share > 0.005) text += fmt::format("{:.0f} s left, ", p.run_s * (1 - share) / share);
  }
  return text + core::format_count(rate) + " events/s";
}

void ProgressPrinter::operator()(const pdes::Progress& p) {
  if (p.run_s < next_s_) return;
  if (console_.err_is_terminal) {
    next_s_ = p.run_s + kTerminalPeriod_s;
    console_.err << kEraseLine << line(p) << std::flush;
  } else {
    next_s_ = p.run_s + kPlainPeriod_s;
    console_.err << line(p) + "\n" << std::flush;
  }
  shown_ = true;
}

void ProgressPrinter::finish() {
  if (shown_ && console_.err_is_terminal) console_.err << kEraseLine << std::flush;
  shown_ = false;
}

}  // namespace exawarp::io
