#include "io/quantities.h"

#include <string>

namespace exawarp::io {

using core::Dimension;

core::Time read_latency(const YamlSection& section, std::string_view key, std::int64_t min_ps,
                        std::optional<std::int64_t> fallback_ps) {
  constexpr core::Time kMax{60 * core::kPicosecondsPerSecond};
  const core::Time value{section.quantity(key, Dimension::time, min_ps, fallback_ps)};
  if (value > kMax) {
    section.fail(key, core::format_time(value) + " is too long for a latency; expected e.g. " +
                          std::string(core::examples_of(Dimension::time)));
  }
  return value;
}

std::int64_t achieved_bandwidth(const YamlSection& section) {
  const std::int64_t achieved = section.quantity("bandwidth", Dimension::bandwidth);
  const std::int64_t peak =
      section.quantity("peak_bandwidth", Dimension::bandwidth, 1, achieved);
  if (achieved > peak) {
    section.fail("bandwidth", "is above peak_bandwidth; expected what transfers achieve");
  }
  return achieved;
}

std::uint32_t read_count(const YamlSection& section, std::string_view key, std::int64_t min,
                         std::int64_t max, std::optional<std::int64_t> fallback) {
  return static_cast<std::uint32_t>(section.integer(key, {min, max}, fallback));
}

void skip_documentation(const YamlSection& section) {
  section.skip("source");
  section.skip("description");
}

}  // namespace exawarp::io
