#include "io/faults_config.h"

#include <algorithm>
#include <cmath>

#include "io/quantities.h"

namespace exawarp::io {
namespace {

model::Slowdown read_slowdown(const YamlSection& rule) {
  using core::Dimension;
  model::Slowdown slow;
  slow.devices = read_devices(rule, "devices");
  std::ranges::sort(slow.devices);
  const double factor =
      rule.real("factor", {.min = 1 / model::kSlowdownMax, .max = model::kSlowdownMax});
  slow.factor_ppm = std::max<std::int64_t>(1, std::llround(factor * 1e6));
  slow.from = core::Time{rule.quantity("from", Dimension::time, 0, 0)};
  slow.until = core::Time{rule.quantity("until", Dimension::time, 0, slow.until.ps)};
  if (slow.until <= slow.from) rule.fail("until", "is not after from, so that nothing is slow");
  return slow;
}

}  // namespace

std::vector<model::Slowdown> read_slow_devices(const YamlSection& faults) {
  std::vector<model::Slowdown> slow;
  if (!faults.has("slow_devices")) return slow;
  for (const YamlSection& rule : faults.sections("slow_devices")) {
    slow.push_back(read_slowdown(rule));
  }
  return slow;
}

}  // namespace exawarp::io
