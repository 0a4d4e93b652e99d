#include "io/faults_config.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace exawarp::io {
namespace {

// "7" or "8-15", both ends included.
void add_devices(const YamlSection& rule, const std::string& text,
                 std::vector<std::uint32_t>& devices) {
  constexpr std::uint32_t kDevicesMax = 1u << 24;
  std::uint32_t first = 0, last = 0;
  const char* end = text.data() + text.size();
  auto at = std::from_chars(text.data(), end, first);
  bool sound = at.ec == std::errc{};
  last = first;
  if (sound && at.ptr != end && *at.ptr == '-') {
    at = std::from_chars(at.ptr + 1, end, last);
    sound = at.ec == std::errc{};
  }
  if (!sound || at.ptr != end || last < first || last >= kDevicesMax) {
    rule.fail("devices", "\"" + text + "\" names no devices; expected e.g. [7, 16-23]");
  }
  for (std::uint32_t d = first; d <= last; ++d) devices.push_back(d);
}

model::Slowdown read_slowdown(const YamlSection& rule) {
  using core::Dimension;
  model::Slowdown slow;
  for (const std::string& text : rule.texts("devices")) add_devices(rule, text, slow.devices);
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
