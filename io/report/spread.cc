#include "io/report/spread.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/units.h"
#include "model/serving/outcome.h"

namespace exawarp::io {

Spread spread_of(std::vector<core::Time> times) {
  Spread out;
  if (times.empty()) return out;
  std::ranges::sort(times);
  core::WidePs sum = 0;
  for (const core::Time t : times) sum += t.ps;
  out.mean = core::time_to_end(sum / static_cast<core::WidePs>(times.size()));
  out.p50 = model::serving::percentile(times, 50);
  out.p90 = model::serving::percentile(times, 90);
  out.p99 = model::serving::percentile(times, 99);
  out.most = times.back();
  return out;
}

nlohmann::ordered_json json_of(const Spread& s) {
  return {{"mean", s.mean.ps}, {"p50", s.p50.ps}, {"p90", s.p90.ps},
          {"p99", s.p99.ps},   {"max", s.most.ps}};
}

std::string text_of(const Spread& s) {
  return fmt::format("mean {}, p50 {}, p90 {}, p99 {}, max {}", core::format_time(s.mean),
                     core::format_time(s.p50), core::format_time(s.p90),
                     core::format_time(s.p99), core::format_time(s.most));
}

}  // namespace exawarp::io
