#include "io/report/fork_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/units.h"
#include "io/report/append.h"
#include "io/report/printed_json.h"

namespace exawarp::io {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kEffectsShown = 3;
constexpr double kEffectLeast_s = 1e-9;

struct Effect {
  std::string_view time_class;
  double device_s = 0;  // more than in the unchanged future, a device
};

// What devices spend more or less time on, the largest first.
std::vector<Effect> effects_of(const FutureResult& usual, const FutureResult& future) {
  std::vector<Effect> all;
  for (std::size_t c = 0; c < std::min(usual.device_s.size(), future.device_s.size()); ++c) {
    const double more = future.device_s[c] - usual.device_s[c];
    const double each = more / static_cast<double>(std::max<std::uint64_t>(1, usual.devices));
    if (std::abs(each) >= kEffectLeast_s) all.push_back({model::kTimeClassNames[c], each});
  }
  std::ranges::stable_sort(all, std::greater{},
                           [](const Effect& e) { return std::abs(e.device_s); });
  return all;
}

std::string signed_time(core::Time t) {
  return (t.ps < 0 ? "-" : "+") + core::format_time(core::Time{std::abs(t.ps)});
}

core::Time time_of(double seconds) {
  return core::Time{std::llround(seconds * static_cast<double>(core::kPicosecondsPerSecond))};
}

std::string departure_text(const DepartureText& d) {
  std::string text =
      fmt::format("{:.6f} ms, {}: {}", static_cast<double>(d.at.ps) / 1e9, d.where, d.what);
  if (d.only_here) {
    return text + (d.other_time
                       ? fmt::format(" {} earlier", core::format_time(*d.other_time - d.at))
                       : ", as it else does not");
  }
  return text + (d.other_time ? fmt::format(" {} later", core::format_time(*d.other_time - d.at))
                              : ", as it here does not");
}

void append_future(std::string& out, const FutureResult& usual, const FutureResult& f) {
  if (f.status != RunStatus::finished) {
    append(out, "\n{:<20} {}\n", f.name, core::name_of(f.status));
  } else {
    const core::Time change = f.simulated - usual.simulated;
    append(out, "\n{:<20} {:>12} {:>12} {:>+8.2f} %\n", f.name, core::format_time(f.simulated),
           signed_time(change),
           usual.simulated.ps == 0
               ? 0.0
               : 100 * static_cast<double>(change.ps) / static_cast<double>(usual.simulated.ps));
  }
  append(out, "  {:<12}{}\n", "change", fmt::join(f.set, "; "));
  append(out, "  {:<12}{}\n", "departs",
         f.departure ? departure_text(*f.departure) : "nowhere: it has the same events");
  if (f.status != RunStatus::finished) return;
  std::vector<std::string> effects;
  for (const Effect& e : effects_of(usual, f)) {
    if (effects.size() == kEffectsShown) break;
    effects.push_back(fmt::format("{} {}", signed_time(time_of(e.device_s)), e.time_class));
  }
  if (!effects.empty()) append(out, "  {:<12}{} a device\n", "leads to", fmt::join(effects, ", "));
}

Json json_of(const FutureResult& usual, const FutureResult& f) {
  Json json{{"name", f.name},
            {"set", f.set},
            {"at_ps", f.at.ps},
            {"status", core::name_of(f.status)},
            {"simulated_time_ps", f.simulated.ps},
            {"change_ps", f.simulated.ps - usual.simulated.ps},
            {"digest", f.digest},
            {"directory", f.directory}};
  if (f.departure) {
    const DepartureText& d = *f.departure;
    json["departs"] = {{"at_ps", d.at.ps},
                       {"where", d.where},
                       {"what", d.what},
                       {"in", d.only_here ? f.name : usual.name}};
    if (d.other_time) json["departs"]["other_at_ps"] = d.other_time->ps;
  }
  for (const Effect& e : effects_of(usual, f)) {
    json["device_time_change_s"][std::string(e.time_class)] = e.device_s;
  }
  return json;
}

}  // namespace

std::string fork_text(const ForkReport& report) {
  const FutureResult& usual = report.futures.front();
  std::string out =
      fmt::format("{}: futures of {}, at {}\n\n{:<20} {:>12} {:>12}\n", report.name,
                  report.checkpoint, core::format_time(report.at), "future", "ends at", "change");
  append(out, "{:<20} {:>12}\n", usual.name,
         usual.status == RunStatus::finished ? core::format_time(usual.simulated)
                                             : std::string(core::name_of(usual.status)));
  for (std::size_t i = 1; i < report.futures.size(); ++i) {
    append_future(out, usual, report.futures[i]);
  }
  return out;
}

std::string fork_json(const ForkReport& report) {
  Json futures = Json::array();
  for (const FutureResult& f : report.futures) {
    futures.push_back(json_of(report.futures.front(), f));
  }
  return printed({{"schema", "exawarp-fork-1"},
                  {"fork", report.name},
                  {"checkpoint", report.checkpoint},
                  {"at_ps", report.at.ps},
                  {"futures", std::move(futures)}});
}

}  // namespace exawarp::io
