#include "io/report/ran.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>

#include "core/stop_signal.h"
#include "io/study/suggest.h"

namespace exawarp::io {

std::string stopped_text(const Ran& report, const std::string& what, const std::string& reached) {
  const std::string why =
      report.stop_signal != 0
          ? fmt::format("stopped by {}", core::signal_name(report.stop_signal))
          : fmt::format("host time ran out after {:g} s (--time-limit)", report.time_limit_s);
  const std::string next =
      !report.checkpoint.empty()
          ? fmt::format("--restart {} goes on", one_line(report.checkpoint))
      : report.stop_signal != 0 ? std::string("with --checkpoint it could go on")
                                : std::string("a longer limit or more ranks would help");
  return fmt::format("{}: {} {}; the results are partial; {}\n", one_line(what), why, reached,
                     next);
}

// getrusage() counts what the process was before exec(), too: a copy of whatever started it. The
// kernel's status file does not.
std::uint64_t peak_rss_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::uint64_t kibibytes = 0;
    if (std::sscanf(line.c_str(), "VmHWM: %" SCNu64 " kB", &kibibytes) == 1)
      return kibibytes * 1'024;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1'024;  // Linux counts in KiB
}

}  // namespace exawarp::io
