#include "io/cli/commands/capacity.h"

#include <fmt/format.h>

#include <chrono>
#include <ostream>

#include "core/error.h"
#include "io/cli/status_line.h"
#include "io/life/agreement.h"
#include "io/life/capacity.h"
#include "io/study/find_config.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

// KEY=V,V,...: what --over has.
CapacityOptions capacity_of(const CapacityArguments& a) {
  CapacityOptions out{.tolerance = a.tolerance, .key = {}, .values = {}};
  if (a.over.empty()) return out;
  const std::size_t equals = a.over.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == a.over.size()) {
    throw core::InputError("--over", "\"" + a.over + "\" is no key with values; expected e.g. "
                                     "serving.batch_requests_max=16,32,64");
  }
  out.key = a.over.substr(0, equals);
  std::string rest = a.over.substr(equals + 1);
  while (true) {
    const std::size_t comma = rest.find(',');
    out.values.push_back(rest.substr(0, comma));
    if (out.values.back().empty()) {
      throw core::InputError("--over", "\"" + a.over + "\" has an empty value; expected one "
                                       "between two commas");
    }
    if (comma == std::string::npos) return out;
    rest.erase(0, comma + 1);
  }
}

}  // namespace

int run_capacity(const CapacityArguments& a, const Console& console, pdes::Transport& transport) {
  CapacityOptions capacity;
  std::string file;
  agree(transport, [&] {
    capacity = capacity_of(a);
    file = find_config(a.study_file, kServingFolders);
  });
  StatusLine status(console);
  std::size_t tried = 0;
  capacity.progress = [&](const std::string& setting, const CapacityPoint& point) {
    const std::chrono::duration<double> elapsed = TimeLimit::Clock::now() - console.started;
    ++tried;
    if (transport.rank().value != 0 || !status.is_due(elapsed.count())) return;
    status.show(elapsed.count(), fmt::format("{:.0f} s: {} rates tried, last {:.4g} a second{}{}",
                                             elapsed.count(), tried, point.rate,
                                             setting.empty() ? "" : ", ", setting));
  };
  const CapacityReport report = find_capacity(file, a.overrides, capacity,
                                              with_console(a.options, console), transport);
  status.erase();
  if (transport.rank().value == 0) {
    if (report.is_stopped) {
      console.err << fmt::format("{}: host time ran out (--time-limit) when {} rates had been "
                                 "tried; a longer limit would help\n",
                                 file, tried);
    }
    console.out << (a.json ? capacity_json(report) : printable(capacity_text(report)))
                << std::flush;
  }
  return exit_code_of(report.is_stopped ? RunStatus::stopped : RunStatus::finished);
}

}  // namespace exawarp::io
