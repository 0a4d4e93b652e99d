#include "io/report/ran.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>

#include "io/study/suggest.h"

namespace exawarp::io {

std::string stopped_text(double time_limit_s, const std::string& file,
                         const std::string& reached) {
  return fmt::format(
      "{}: host time ran out after {:g} s (--time-limit) {}; the results are "
      "partial; a longer limit or more ranks would help\n",
      one_line(file), time_limit_s, reached);
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
