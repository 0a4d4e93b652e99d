#include "io/report/power_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "io/report/append.h"

namespace exawarp::io {
namespace {

// As a table has names that may hold anything.
std::string quoted(const std::string& name) {
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string csv_of(const model::PowerTrace& trace) {
  std::string out = "from_ps,until_ps";
  for (const auto& series : trace.series()) {
    append(out, ",{}", quoted(series.name + " W"));
  }
  out += '\n';
  const std::int64_t width = trace.width().ps;
  for (std::size_t i = 0; i < trace.series().front().watts.size(); ++i) {
    const std::int64_t from = static_cast<std::int64_t>(i) * width;
    append(out, "{},{}", from, std::min(from + width, trace.end().ps));
    for (const auto& series : trace.series()) {
      append(out, ",{:.2f}", series.watts[i]);
    }
    out += '\n';
  }
  return out;
}

}  // namespace

void write_power(const model::PowerTrace& trace, core::OutputFile& file) {
  file.write(csv_of(trace));
  file.commit();
}

}  // namespace exawarp::io
