#include "io/cli/timeline_command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <sstream>
#include <vector>

#include "core/error.h"
#include "io/cli/command_line.h"
#include "io/cli/option_values.h"

namespace exawarp::io {
namespace {

constexpr const char* kDevices = "--timeline-devices";
constexpr const char* kFrom = "--timeline-from";
constexpr const char* kUntil = "--timeline-until";
constexpr const char* kSlices = "--timeline-slices";
constexpr std::size_t kDevicesMax = 65'536;

std::uint32_t device_from(const std::string& text, const std::string& whole) {
  const std::optional<std::uint64_t> device = unsigned_from(text);
  if (device && *device <= std::numeric_limits<std::uint32_t>::max()) {
    return static_cast<std::uint32_t>(*device);
  }
  throw core::InputError(kDevices,
                         in_quotes(whole) + " is no list of devices; expected e.g. \"0,8-15\"");
}

// "0,8-15", both ends of a range included.
std::vector<std::uint32_t> devices_from(const std::string& whole) {
  std::vector<std::uint32_t> devices;
  std::istringstream parts(whole + ",");
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t dash = part.find('-');
    const std::uint32_t first = device_from(part.substr(0, dash), whole);
    const std::uint32_t last =
        dash == std::string::npos ? first : device_from(part.substr(dash + 1), whole);
    if (last < first || last - first >= kDevicesMax - devices.size()) {
      throw core::InputError(
          kDevices, fmt::format("{} has a range that ends before it starts, or too many devices; "
                                "expected at most {}",
                                in_quotes(whole), kDevicesMax));
    }
    for (std::uint64_t device = first; device <= last; ++device) {
      devices.push_back(static_cast<std::uint32_t>(device));
    }
  }
  return devices;
}

core::Time instant(const char* option, const std::string& text) {
  const core::Time at = parse_time(option, text);
  if (core::Time{0} <= at && at <= core::kEndOfTime) return at;
  throw core::InputError(
      option, fmt::format("{}; expected 0 s to {}", in_quotes(text), core::kEndOfTimeText));
}

std::uint64_t slices_from(const std::string& text) {
  const std::optional<std::uint64_t> slices = unsigned_from(text);
  if (slices && 0 < *slices && *slices <= model::kTimelineSlicesMax) return *slices;
  throw core::InputError(
      kSlices, fmt::format("{}; expected 1 to {}", in_quotes(text), model::kTimelineSlicesMax));
}

}  // namespace

void add_timeline(CLI::App& app, RunArguments& a, RawTimelineOptions& raw) {
  app.add_option("--timeline", a.timeline,
                 "writes what devices do when there (a trace for ui.perfetto.dev)");
  app.add_option(kDevices, raw.devices,
                 "whose, e.g. 0,8-15 (default: the first of each pipeline stage)");
  app.add_option(kFrom, raw.from, "leaves out what is before this simulated time, e.g. \"5 ms\"");
  app.add_option(kUntil, raw.until, "leaves out what is after it");
  app.add_option(kSlices, raw.slices,
                 "the timeline ends where there would be more slices (default: 1000000)");
}

void finish_timeline(const RawTimelineOptions& raw, RunArguments& a) {
  if (a.timeline.empty()) {
    for (const auto& [option, text] : {std::pair{kDevices, &raw.devices},
                                       {kFrom, &raw.from},
                                       {kUntil, &raw.until},
                                       {kSlices, &raw.slices}}) {
      if (!text->empty()) {
        throw core::InputError(option, "has no effect without --timeline FILE");
      }
    }
    return;
  }
  model::TimelineOptions& options = a.options.timeline.emplace();
  if (!raw.devices.empty()) options.devices = devices_from(raw.devices);
  if (!raw.from.empty()) options.from = instant(kFrom, raw.from);
  if (!raw.until.empty()) options.until = instant(kUntil, raw.until);
  if (!raw.slices.empty()) options.slices_max = slices_from(raw.slices);
  if (options.until <= options.from) {
    throw core::InputError(
        kUntil, fmt::format("{} is no later than the timeline begins; expected more "
                            "than {}",
                            core::format_time(options.until), core::format_time(options.from)));
  }
}

}  // namespace exawarp::io
