#include "io/cli/status_line.h"

#include <ostream>

namespace exawarp::io {
namespace {

constexpr double kTerminalPeriod_s = 0.25;
constexpr double kPlainPeriod_s = 10;
constexpr const char* kEraseLine = "\r\x1b[K";

}  // namespace

StatusLine::StatusLine(const Console& console)
    : console_(console), next_s_(console.err_is_terminal ? kTerminalPeriod_s : kPlainPeriod_s) {}

void StatusLine::show(double elapsed_s, const std::string& text) {
  if (console_.err_is_terminal) {
    next_s_ = elapsed_s + kTerminalPeriod_s;
    console_.err << kEraseLine << text << std::flush;
  } else {
    next_s_ = elapsed_s + kPlainPeriod_s;
    console_.err << text + "\n" << std::flush;
  }
  shown_ = true;
}

void StatusLine::erase() {
  if (shown_ && console_.err_is_terminal) console_.err << kEraseLine << std::flush;
  shown_ = false;
}

}  // namespace exawarp::io
