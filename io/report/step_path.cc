#include "io/report/step_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/names.h"
#include "io/report/append.h"
#include "io/report/node_name.h"
#include "model/device/device.h"
#include "model/workload/names.h"

namespace exawarp::io {
namespace {

using core::Time;
using model::CriticalPath;
using model::PathElement;
using model::PathPart;
using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestMax = 20, kLongestPrinted = 5;

constexpr std::array<std::string_view, model::kPathPartCount> kPartNames{
    "compute", "launch", "rank noise", "variation", "latency", "bandwidth", "queue", "host"};

bool computes(PathPart part) { return part <= PathPart::variation; }

// The elements of a chain, in words.
class PathText {
 public:
  explicit PathText(const RunReport& r)
      : model_(r.cluster->devices()), job_(model_.jobs[r.path->found->job]) {}

  [[nodiscard]] model::schema::Node::Reader node(const PathElement& e) const {
    return job_.graph->program(e.program - job_.first_program).node(task(e).node);
  }
  [[nodiscard]] std::string name(const PathElement& e) const {
    return name_of_node(*job_.graph, node(e));
  }
  [[nodiscard]] std::uint32_t device(const PathElement& e) const {
    return job_.device_of(model::place_of(model_, {e.lp.value}).rank).value;
  }
  // What computed, or along which axis was communicated.
  [[nodiscard]] std::string kind(const PathElement& e) const {
    if (!computes(e.part)) return std::string(model::kTimeClassNames[index_of(task(e).time_class)]);
    return std::string(node(e).getKind() == model::schema::NodeKind::COMPUTE
                           ? core::name_of(node(e).getOperation())
                           : core::name_of(node(e).getKind()));
  }
  // "gemm", "launch", "tensor latency", "host launch".
  [[nodiscard]] std::string cause(const PathElement& e) const {
    const std::string part(part_name(e));
    if (e.part == PathPart::work) return kind(e);
    if (e.part == PathPart::host) return "host launch";
    return computes(e.part) ? part : kind(e) + " " + part;
  }
  [[nodiscard]] static std::string_view part_name(const PathElement& e) {
    return kPartNames[static_cast<std::size_t>(e.part)];
  }

 private:
  [[nodiscard]] const model::Task& task(const PathElement& e) const {
    return model_.programs[e.program].tasks[e.task];
  }
  const model::DeviceModel& model_;
  const model::PlacedJob& job_;
};

struct Share {
  std::string cause;
  Time time;
  std::uint64_t elements = 0;
};

// By cause, the largest first.
std::vector<Share> shares_of(const CriticalPath& path, const PathText& words) {
  std::map<std::string, Share> by_cause;
  for (const PathElement& e : path.elements) {
    const std::string cause = words.cause(e);
    Share& share = by_cause.try_emplace(cause, Share{.cause = cause, .time = {}}).first->second;
    share.time = share.time + (e.until - e.from);
    ++share.elements;
  }
  std::vector<Share> all;
  for (auto& [cause, share] : by_cause) all.push_back(std::move(share));
  std::ranges::stable_sort(all, [](const Share& a, const Share& b) { return b.time < a.time; });
  return all;
}

// A resource, and what a run gains at most if it were infinitely fast: the chain would still take
// what it takes of the others. Waits for links count as bandwidth. And what the run gained with it
// kPathCheckFactor times faster.
struct Gain {
  std::string_view resource;
  Time at_most = {};
  Time in_proportion = {};  // of it: shrinks as the resource gets faster; the rest may vanish
  std::optional<Time> seen = {};

  [[nodiscard]] Time at_most_checked() const {
    return at_most - Time{in_proportion.ps / kPathCheckFactor};
  }
};
std::array<Gain, kPathResourceCount> gains_of(const PathReport& report) {
  const CriticalPath& path = *report.found;
  std::array<Gain, kPathResourceCount> gains{
      {{"compute"}, {"launch"}, {"bandwidth"}, {"latency"}}};  // as PathResource
  for (const PathCheck& check : report.checks) {
    gains[static_cast<std::size_t>(check.resource)].seen = path.until - check.simulated;
  }
  for (const PathElement& e : path.elements) {
    const Time took = e.until - e.from;
    const bool in_proportion = e.part != PathPart::queue && e.part != PathPart::variation;
    const auto add = [&](std::size_t i) {
      gains[i].at_most = gains[i].at_most + took;
      if (in_proportion) gains[i].in_proportion = gains[i].in_proportion + took;
    };
    if (computes(e.part)) add(0);
    if (e.part == PathPart::launch) add(1);
    if (e.part == PathPart::bandwidth || e.part == PathPart::queue) add(2);
    if (e.part == PathPart::latency) add(3);
  }
  return gains;
}

std::vector<PathElement> longest_of(const CriticalPath& path, std::size_t count) {
  std::vector<PathElement> all = path.elements;
  std::ranges::stable_sort(all, [](const PathElement& a, const PathElement& b) {
    return b.until - b.from < a.until - a.from;
  });
  all.resize(std::min(all.size(), count));
  return all;
}

double part_of(Time time, const CriticalPath& path) {
  const Time whole = path.until - path.from;
  return whole.ps == 0 ? 0 : static_cast<double>(time.ps) / static_cast<double>(whole.ps);
}

std::size_t devices_on(const CriticalPath& path) {
  std::set<std::uint32_t> lps;
  for (const PathElement& e : path.elements) lps.insert(e.lp.value);
  return lps.size();
}

}  // namespace

std::string path_json(const RunReport& r) {
  EXAWARP_CHECK(r.path.has_value());
  if (!r.path->found) return Json{{"why_not", r.path->why_not}}.dump();
  const CriticalPath& path = *r.path->found;
  const PathText words(r);
  Json shares = Json::array(), gains = Json::array(), longest = Json::array();
  for (const Share& s : shares_of(path, words)) {
    shares.push_back({{"cause", s.cause},
                      {"time_ps", s.time.ps},
                      {"share", part_of(s.time, path)},
                      {"elements", s.elements}});
  }
  for (const Gain& g : gains_of(*r.path)) {
    gains.push_back({{"resource", g.resource}, {"at_most_ps", g.at_most.ps}});
    if (!g.seen) continue;
    gains.back()["ten_times_faster_at_most_ps"] = g.at_most_checked().ps;
    gains.back()["ten_times_faster_ps"] = g.seen->ps;
  }
  for (const PathElement& e : longest_of(path, kLongestMax)) {
    longest.push_back({{"device", words.device(e)},
                       {"name", words.name(e)},
                       {"cause", words.cause(e)},
                       {"start_ps", e.from.ps},
                       {"duration_ps", (e.until - e.from).ps}});
  }
  const Json json{{"job", r.cluster->jobs()[path.job].name},
                  {"from_ps", path.from.ps},
                  {"until_ps", path.until.ps},
                  {"elements", path.elements.size()},
                  {"devices", devices_on(path)},
                  {"shares", std::move(shares)},
                  {"gain_if_infinitely_fast", std::move(gains)},
                  {"longest", std::move(longest)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string path_text(const RunReport& r) {
  EXAWARP_CHECK(r.path.has_value());
  if (!r.path->found) return "Critical path  not known: " + r.path->why_not + "\n";
  const CriticalPath& path = *r.path->found;
  const PathText words(r);
  std::string out = fmt::format("Critical path ({} elements on {} devices)\n",
                                core::format_grouped(path.elements.size()),
                                core::format_grouped(devices_on(path)));
  for (const Share& s : shares_of(path, words)) {
    append(out, "  {:<22} {:>12} {:>7.2f} %\n", s.cause, core::format_time(s.time),
           100 * part_of(s.time, path));
  }
  out += "  gain at most, if infinitely fast";
  out += r.path->checks.empty() ? "\n" : "; ten times faster: at most, as run again\n";
  for (const Gain& g : gains_of(*r.path)) {
    append(out, "  {:<22} {:>12} {:>7.2f} %", g.resource, core::format_time(g.at_most),
           100 * part_of(g.at_most, path));
    if (g.seen) {
      append(out, " {:>9.2f} % {:>7.2f} %", 100 * part_of(g.at_most_checked(), path),
             100 * part_of(*g.seen, path));
    }
    out += "\n";
  }
  out += "  longest elements\n";
  for (const PathElement& e : longest_of(path, kLongestPrinted)) {
    append(out, "  {:>12} from {:>12}  device {}, {} ({})\n", core::format_time(e.until - e.from),
           core::format_time(e.from), words.device(e), words.name(e), words.cause(e));
  }
  return out;
}

void write_path(const RunReport& r, core::OutputFile& file) {
  EXAWARP_CHECK(r.path && r.path->found);
  const PathText words(r);
  std::string out = "from_ps,until_ps,device,part,kind,name\n";
  for (const PathElement& e : r.path->found->elements) {
    std::string name = words.name(e);
    for (std::size_t at = 0; (at = name.find('"', at)) != std::string::npos; at += 2) {
      name.insert(at, 1, '"');
    }
    append(out, "{},{},{},{},{},\"{}\"\n", e.from.ps, e.until.ps, words.device(e),
           PathText::part_name(e), words.kind(e), name);
  }
  file.write(out);
  file.commit();
}

}  // namespace exawarp::io
