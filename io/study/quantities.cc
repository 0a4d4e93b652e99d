#include "io/study/quantities.h"

#include <charconv>
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

std::uint32_t read_count(const YamlSection& section, std::string_view key, std::int64_t min,
                         std::int64_t max, std::optional<std::int64_t> fallback) {
  return static_cast<std::uint32_t>(section.integer(key, {min, max}, fallback));
}

void add_ids(const YamlSection& section, std::string_view key, const IdRange& range,
             std::vector<std::uint32_t>& ids) {
  std::string_view rest = range.text;
  if (!rest.empty() && rest.front() == range.prefix) rest.remove_prefix(1);
  std::uint32_t first = 0, last = 0;
  const char* end = rest.data() + rest.size();
  auto at = std::from_chars(rest.data(), end, first);
  bool sound = at.ec == std::errc{};
  last = first;
  if (sound && at.ptr != end && *at.ptr == '-') {
    at = std::from_chars(at.ptr + 1, end, last);
    sound = at.ec == std::errc{};
  }
  if (!sound || at.ptr != end || last < first || last >= range.ids_max) {
    section.fail(key, "\"" + std::string(range.text) + "\" names no " + std::string(key) +
                          "; expected e.g. [7, 16-23]");
  }
  constexpr std::uint32_t kListMax = 1u << 24;
  if (last - first >= kListMax - ids.size()) {
    section.fail(key, "names more than 16,777,216 " + std::string(key));
  }
  for (std::uint32_t id = first; id <= last; ++id) ids.push_back(id);
}

std::vector<std::uint32_t> read_devices(const YamlSection& section, std::string_view key) {
  std::vector<std::uint32_t> devices;
  for (const std::string& text : section.texts(key)) {
    add_ids(section, key, {.text = text, .ids_max = 1u << 24}, devices);
  }
  return devices;
}

}  // namespace exawarp::io
