// Keeps a profile's complete events of the kinds that linking needs, sorted by their start;
// everything else in the file (flows, counters, metadata) is passed over.
#include "io/formats/pytorch/kineto.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "io/study/numbers.h"
#include "io/study/text_file.h"

namespace exawarp::io::pytorch {
namespace {

using core::InputError;
using Json = nlohmann::json;

// What an int64 of nanoseconds holds.
constexpr RealRange kTimesUs{.min = -9e12, .max = 9e12, .min_excluded = true, .max_excluded = true};

std::optional<KinetoEvent::Kind> kind_of(const std::string& category, const std::string& name) {
  using Kind = KinetoEvent::Kind;
  if (category == "cpu_op" || category == "user_annotation") {
    // Spans whole steps, and would take all their time.
    if (name.starts_with("ProfilerStep")) return std::nullopt;
    return Kind::function;
  }
  if (category == "cuda_runtime" || category == "cuda_driver") return Kind::launch;
  if (category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset") {
    return Kind::device;
  }
  return std::nullopt;
}

// As a number or as text.
std::optional<std::uint64_t> id_in(const Json& arguments, const char* key) {
  const auto at = arguments.find(key);
  if (at == arguments.end()) return std::nullopt;
  if (at->is_number_unsigned()) return at->get<std::uint64_t>();
  if (!at->is_string()) return std::nullopt;
  const std::string text = at->get<std::string>();
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::int64_t nanoseconds(const Json& event, const char* key, const std::string& where) {
  const auto at = event.find(key);
  if (at == event.end() || !at->is_number() || !kTimesUs.contains(at->get<double>())) {
    throw InputError(where, fmt::format("{}: expected microseconds", key));
  }
  return std::llround(at->get<double>() * 1e3);
}

std::optional<KinetoEvent> read_event(const Json& in, const std::string& where) {
  if (!in.is_object()) throw InputError(where, "is no JSON object");
  const auto text = [&](const char* key) {
    const auto at = in.find(key);
    return at != in.end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  if (text("ph") != "X") return std::nullopt;
  const std::optional<KinetoEvent::Kind> kind = kind_of(text("cat"), text("name"));
  if (!kind) return std::nullopt;
  KinetoEvent out{.kind = *kind, .name = text("name")};
  out.start_ns = nanoseconds(in, "ts", where);
  out.duration_ns = std::max<std::int64_t>(0, nanoseconds(in, "dur", where));
  if (in.contains("tid")) out.thread = in.value("pid", Json()).dump() + "/" + in["tid"].dump();
  const auto arguments = in.find("args");
  if (arguments == in.end() || !arguments->is_object()) return out;
  out.external = id_in(*arguments, "External id");
  out.correlation = id_in(*arguments, "correlation");
  out.record_function = id_in(*arguments, "Record function id");
  out.stream = id_in(*arguments, "stream").value_or(0);
  return out;
}

}  // namespace

std::vector<KinetoEvent> read_kineto(std::string_view text, const std::string& place) {
  check_json_depth(text, place);
  const Json document = Json::parse(text, nullptr, false);
  if (!document.is_object() || !document.contains("traceEvents") ||
      !document["traceEvents"].is_array()) {
    throw InputError(place, "is no JSON object with traceEvents; expected a Kineto profile");
  }
  std::vector<KinetoEvent> events;
  std::size_t index = 0;
  for (const Json& entry : document["traceEvents"]) {
    const std::string where = fmt::format("{}: traceEvents[{}]", place, index++);
    if (std::optional<KinetoEvent> event = read_event(entry, where)) {
      events.push_back(std::move(*event));
    }
  }
  std::ranges::stable_sort(events, {}, &KinetoEvent::start_ns);
  return events;
}

}  // namespace exawarp::io::pytorch
