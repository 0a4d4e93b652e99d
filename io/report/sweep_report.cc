#include "io/report/sweep_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "io/report/printed_json.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kReasonsMax = 10;
constexpr std::size_t kReasonBytesMax = 160;

// What is to be made small: more is worse.
double loss(const SweepResults& results, const SweepPoint& point, std::size_t measure) {
  const double figure = *point.figures[measure];
  return results.measures[measure].more_is_better ? -figure : figure;
}

// The points that are done and have the first `measures` figures, the best of the first one first.
std::vector<SweepPoint> ranked(const SweepResults& results, std::size_t measures) {
  std::vector<SweepPoint> out;
  for (const SweepPoint& point : results.points) {
    bool known = point.state == PointState::done;
    for (std::size_t m = 0; m < measures; ++m) known = known && point.figures[m].has_value();
    if (known) out.push_back(point);
  }
  std::ranges::stable_sort(out, {},
                           [&](const SweepPoint& point) { return loss(results, point, 0); });
  return out;
}

bool dominates(const SweepResults& results, const SweepPoint& a, const SweepPoint& b,
               std::size_t measures) {
  bool better = false;
  for (std::size_t m = 0; m < measures; ++m) {
    const double of_a = loss(results, a, m), of_b = loss(results, b, m);
    if (of_a > of_b) return false;
    better = better || of_a < of_b;
  }
  return better;
}

// The last part of each key, or all of it where another ends alike.
std::vector<std::string> short_names(const std::vector<std::string>& keys) {
  const auto last = [](const std::string& key) { return key.substr(key.rfind('.') + 1); };
  std::map<std::string, int> count;
  for (const std::string& key : keys) ++count[last(key)];
  std::vector<std::string> out;
  for (const std::string& key : keys) out.push_back(count[last(key)] == 1 ? last(key) : key);
  return out;
}

// Of a file, its name.
std::string brief(const std::string& value) {
  return value.ends_with(".yaml") ? std::filesystem::path(value).stem().string() : value;
}

std::string heading(const Measure& measure) {
  return measure.unit.empty() ? measure.name : fmt::format("{} ({})", measure.name, measure.unit);
}

using Rows = std::vector<std::vector<std::string>>;

// Columns as wide as they have to be, set to the right.
std::string aligned(const Rows& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) out += fmt::format("  {:>{}}", row[c], widths[c]);
    out += '\n';
  }
  return out;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string out;
  for (const std::string& field : fields) out += (out.empty() ? "" : ",") + csv_field(field);
  return out + '\n';
}

Json json_of(const SweepResults& results, const SweepPoint& point) {
  Json values = Json::object(), figures = Json::object();
  for (std::size_t i = 0; i < results.keys.size(); ++i) values[results.keys[i]] = point.values[i];
  for (std::size_t m = 0; m < results.measures.size(); ++m) {
    if (point.figures[m]) figures[results.measures[m].name] = *point.figures[m];
  }
  Json out{{"number", point.number}, {"state", core::name_of(point.state)}, {"values", values}};
  if (point.state == PointState::pending || point.state == PointState::running) return out;
  out["exit_code"] = point.outcome.exit_code;
  out["wall_s"] = point.outcome.wall_s;
  if (!point.outcome.reason.empty()) out["reason"] = point.outcome.reason;
  if (!point.outcome.digest.empty()) out["digest"] = point.outcome.digest;
  out["figures"] = figures;
  if (!point.outcome.study.empty()) out["study"] = point.outcome.study;
  if (!point.outcome.summary.empty()) {
    out["summary"] = Json::parse(point.outcome.summary, nullptr, false);
  }
  return out;
}

}  // namespace

std::vector<SweepPoint> best_points(const SweepResults& results, std::size_t count) {
  std::vector<SweepPoint> all = ranked(results, 1);
  all.resize(std::min(all.size(), count));
  return all;
}

// Whatever is better than a point in all measures comes before it, or is equal to it in the first
// one; so each is compared with the front as it is by then, and may still drive out equals.
std::vector<SweepPoint> pareto_points(const SweepResults& results, std::size_t measures) {
  std::vector<SweepPoint> front;
  for (const SweepPoint& point : ranked(results, measures)) {
    const auto beats = [&](const SweepPoint& a, const SweepPoint& b) {
      return dominates(results, a, b, measures);
    };
    if (std::ranges::any_of(front, [&](const SweepPoint& in) { return beats(in, point); })) {
      continue;
    }
    std::erase_if(front, [&](const SweepPoint& in) { return beats(point, in); });
    front.push_back(point);
  }
  return front;
}

std::string points_table(const SweepResults& results, const std::vector<SweepPoint>& points) {
  Rows rows{{"number"}};
  for (const std::string& name : short_names(results.keys)) rows[0].push_back(name);
  for (const Measure& measure : results.measures) rows[0].push_back(heading(measure));
  for (const SweepPoint& point : points) {
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(std::to_string(point.number));
    for (const std::string& value : point.values) row.push_back(brief(value));
    for (const std::optional<double>& figure : point.figures) {
      row.push_back(figure ? fmt::format("{:.6g}", *figure) : "-");
    }
  }
  return aligned(rows);
}

std::string sweep_text(const SweepResults& results) {
  std::string out = fmt::format("sweep {}: {} points", results.name, results.points.size());
  for (const auto& [name, state] : names_of(PointState{})) {
    if (results.count(state) != 0) out += fmt::format(", {} {}", results.count(state), name);
  }
  double wall_s = 0;
  for (const SweepPoint& point : results.points) wall_s += point.outcome.wall_s;
  out += fmt::format("\nsimulated in {:.1f} s of host time, all points together\n", wall_s);
  std::map<std::string, std::vector<std::int64_t>> failed;  // points by their reason
  for (const SweepPoint& point : results.points) {
    if (point.state == PointState::failed) failed[point.outcome.reason].push_back(point.number);
  }
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> reasons(failed.begin(),
                                                                         failed.end());
  std::ranges::sort(reasons, {}, [](const auto& reason) { return reason.second.front(); });
  for (std::size_t i = 0; i < std::min(reasons.size(), kReasonsMax); ++i) {
    const auto& [reason, numbers] = reasons[i];
    out += fmt::format("failed: point {}{}: {}{}\n", numbers.front(),
                       numbers.size() == 1 ? "" : fmt::format(" and {} more", numbers.size() - 1),
                       one_line(reason.substr(0, kReasonBytesMax)),
                       reason.size() > kReasonBytesMax ? "..." : "");
  }
  if (reasons.size() > kReasonsMax) {
    out += fmt::format("failed for {} other reasons; `exawarp sweep export` lists them\n",
                       reasons.size() - kReasonsMax);
  }
  return out;
}

std::string sweep_csv(const SweepResults& results) {
  std::vector<std::string> header{"number"};
  header.insert(header.end(), results.keys.begin(), results.keys.end());
  for (const char* const name : {"state", "reason", "exit_code", "wall_s", "digest"}) {
    header.emplace_back(name);
  }
  for (const Measure& measure : results.measures) header.push_back(heading(measure));
  std::string out = csv_line(header);
  for (const SweepPoint& point : results.points) {
    std::vector<std::string> fields{std::to_string(point.number)};
    fields.insert(fields.end(), point.values.begin(), point.values.end());
    const PointOutcome& outcome = point.outcome;
    fields.insert(fields.end(), {std::string(core::name_of(point.state)), outcome.reason,
                                 std::to_string(outcome.exit_code),
                                 fmt::format("{}", outcome.wall_s), outcome.digest});
    for (const std::optional<double>& figure : point.figures) {
      fields.push_back(figure ? fmt::format("{}", *figure) : "");
    }
    out += csv_line(fields);
  }
  return out;
}

std::string sweep_json(const SweepResults& results, const std::vector<SweepPoint>& points) {
  Json all = Json::array();
  for (const SweepPoint& point : points) all.push_back(json_of(results, point));
  return printed(
      Json{{"schema", "exawarp-sweep-1"}, {"sweep", results.name}, {"points", std::move(all)}});
}

}  // namespace exawarp::io
