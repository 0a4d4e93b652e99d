#include "io/report/search_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "io/report/memory_report.h"
#include "io/report/search_order.h"
#include "io/report/sweep_report.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

constexpr std::size_t kFrontMeasures = 3;  // tokens, memory, devices
constexpr std::size_t kFailuresListed = 5;
constexpr std::size_t kFailureBytesMax = 160;

// Ranks from 1; equal figures share the mean of theirs.
std::vector<double> ranks_of(const std::vector<double>& figures) {
  std::vector<double> ranks;
  for (const double figure : figures) {
    const auto below = std::ranges::count_if(figures, [&](double f) { return f < figure; });
    const auto equal = std::ranges::count(figures, figure);
    ranks.push_back(static_cast<double>(below) + (static_cast<double>(equal) + 1) / 2);
  }
  return ranks;
}

double mean(const std::vector<double>& all) {
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}

std::string name_of_axis(const std::string& key) { return key.substr(key.rfind('.') + 1); }

// The axis in which two layouts differ, but for the one that follows; none: in no or several ones.
std::optional<std::size_t> only_difference(const SearchOutcome& search, const SweepPoint& a,
                                           const SweepPoint& b) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    if (search.folded.keys[i] == search.data_key || a.values[i] == b.values[i]) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

// Of layouts that are numbered from 1 in the order of a list.
std::string failures_text(const std::string& where, const std::string& list,
                          const SweepResults& results) {
  std::string out;
  for (const SweepPoint& point : results.points) {
    if (point.state != PointState::failed) continue;
    out += fmt::format("failed at {}: the {}. of the {}: {}\n", where, point.number, list,
                       one_line(point.outcome.reason.substr(0, kFailureBytesMax)));
  }
  return out;
}

std::string counts_text(const SearchOutcome& search) {
  const SweepResults& all = search.folded;
  const auto lacking = static_cast<std::size_t>(std::ranges::count_if(all.points, lacks_memory));
  std::string out = fmt::format(
      "search {}: {} combinations, {} layouts, {} too large for the "
      "memory, {} simulated, {} failed",
      all.name, search.combinations, all.points.size(), lacking, all.count(PointState::done),
      all.count(PointState::failed) - lacking);
  const std::size_t left = all.count(PointState::pending) + all.count(PointState::running);
  out += left == 0 ? "\n" : fmt::format(", {} to do\n", left);
  if (!search.impossible.empty()) {
    out += "impossible:";
    for (const auto& [key, count] : search.impossible) {
      out += fmt::format("{} {} by {}", key == search.impossible.begin()->first ? "" : ",", count,
                         key);
    }
    out += '\n';
  }
  std::map<std::string, std::size_t> reasons;
  for (const SweepPoint& point : all.points) {
    if (point.state == PointState::failed && !lacks_memory(point)) {
      ++reasons[point.outcome.reason.substr(0, kFailureBytesMax)];
    }
  }
  std::size_t listed = 0;
  for (const auto& [reason, count] : reasons) {
    if (listed++ == kFailuresListed) break;
    out += fmt::format("failed: {}: {}\n", count, one_line(reason));
  }
  return out;
}

// How far the second look went, whether what is left can be among the best, and what failed there.
std::string second_look_text(const SearchOutcome& search, const std::vector<SweepPoint>& best) {
  const std::vector<SweepPoint>& again = search.again->points;
  const auto has_ended = [&](std::size_t i) {
    return i < again.size() &&
           (again[i].state == PointState::done || again[i].state == PointState::failed);
  };
  const std::vector<SweepPoint> list = best_points(search.folded, search.folded.points.size());
  const double last = deciding_figure(search, best.back());
  std::size_t looked = 0, left = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    looked += has_ended(i) ? 1 : 0;
    left += !has_ended(i) && *list[i].figures[kSearchTokens] > last ? 1 : 0;
  }
  std::string out = fmt::format("second look at {} of {} layouts; ", looked, list.size());
  out += left == 0 ? "no other is faster at first look than the last of these\n"
                   : fmt::format(
                         "{} more {} faster at first look than the last of these: "
                         "look_again is {}\n",
                         left, left == 1 ? "is" : "are", search.look_again);
  return out + failures_text("second look", "first", *search.again);
}

// Deciding and verified figures of the best that have both, in the order of the list.
std::vector<std::pair<double, double>> pairs_of(const SearchOutcome& search,
                                                const std::vector<SweepPoint>& best) {
  std::vector<std::pair<double, double>> pairs;
  for (const SweepPoint& point : search.verified->points) {
    const auto at = static_cast<std::size_t>(point.number - 1);
    if (point.state != PointState::done || at >= best.size() || !point.figures[kSearchTokens])
      continue;
    pairs.emplace_back(deciding_figure(search, best[at]), *point.figures[kSearchTokens]);
  }
  return pairs;
}

// By the figure that was added last. Requires that one has it.
const SweepPoint& best_verified(const std::vector<SweepPoint>& best) {
  return *std::ranges::max_element(best, {}, [](const SweepPoint& point) {
    return point.figures.back().value_or(0);
  });
}

// How the order of the best compares with what they are verified to reach, which is the last of
// their figures.
std::string verified_text(const SearchOutcome& search, const std::vector<SweepPoint>& best) {
  const std::vector<std::pair<double, double>> pairs = pairs_of(search, best);
  const std::optional<double> correlation = rank_correlation(pairs);
  const std::optional<double> regret = regret_of_first(pairs);
  std::string out;
  if (correlation) {
    out += fmt::format("{} against {}: rank correlation {:.3f}\n", search.fidelity,
                       search.again ? "second look" : "folded", *correlation);
  }
  if (regret) {
    out += fmt::format("the first one's regret at {}: {:.2f} %{}\n", search.fidelity, 100 * *regret,
                       *regret > 0 ? fmt::format("; the best there is number {}",
                                                 best_verified(best).number)
                                   : "");
  }
  return out + failures_text(search.fidelity, "best", *search.verified);
}

// Figures of the second look and verified ones go beside those of the same layout.
std::string best_text(const SearchOutcome& search) {
  SweepResults table = search.folded;
  std::vector<SweepPoint> best = best_layouts(search);
  if (search.again) {
    table.measures.push_back({.name = "second look tokens_per_s", .path = "", .unit = ""});
  }
  if (search.verified) {
    table.measures.push_back({.name = search.fidelity + " tokens_per_s", .path = "", .unit = ""});
    for (std::size_t i = 0; i < best.size(); ++i) {
      const bool has = i < search.verified->points.size();
      best[i].figures.push_back(has ? search.verified->points[i].figures[kSearchTokens]
                                    : std::nullopt);
    }
  }
  std::string out = "\nthe best\n" + points_table(table, best);
  if (search.again) out += second_look_text(search, best);
  return search.verified ? out + verified_text(search, best) : out;
}

// Figures of layouts that have had the second look, by their numbers.
std::map<std::int64_t, double> second_figure_of_layouts(const SearchOutcome& search) {
  std::map<std::int64_t, double> out;
  if (!search.again) return out;
  const std::vector<std::optional<double>> again = second_figures(*search.again);
  const std::vector<SweepPoint> layouts = best_points(search.folded, again.size());
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    if (again[i]) out[layouts[i].number] = *again[i];
  }
  return out;
}

// Both by the same look: the second where both have had it.
std::string gain_text(const SearchOutcome& search, const std::map<std::int64_t, double>& again,
                      const SweepPoint& best, const SweepPoint& other) {
  const bool both = again.contains(best.number) && again.contains(other.number);
  const double of_best = both ? again.at(best.number) : *best.figures[kSearchTokens];
  const double of_other = both ? again.at(other.number) : *other.figures[kSearchTokens];
  std::string out = fmt::format("{:+.2f} % tokens_per_s", 100 * (of_other / of_best - 1));
  if (search.again && !both) out += " at first look";
  if (other.figures[kSearchMemory] && best.figures[kSearchMemory]) {
    out +=
        fmt::format(", {:+.2f} GB", *other.figures[kSearchMemory] - *best.figures[kSearchMemory]);
  }
  return out;
}

std::string neighbours_text(const SearchOutcome& search, const SweepPoint& best) {
  const std::vector<SweepPoint> all = neighbours_of(search, best);
  if (all.empty()) return "";
  const std::map<std::int64_t, double> again = second_figure_of_layouts(search);
  std::string out = "\none setting of the best changed\n";
  for (const SweepPoint& point : all) {
    const std::size_t axis = *only_difference(search, best, point);
    out += fmt::format("  {} {} -> {}: ", name_of_axis(search.folded.keys[axis]), best.values[axis],
                       point.values[axis]);
    if (point.state == PointState::done) {
      out += gain_text(search, again, best, point);
    } else {
      out += lacks_memory(point) ? "too large for the memory" : "fails";
    }
    out += '\n';
  }
  return out;
}

}  // namespace

std::vector<Measure> search_measures() {
  std::vector<Measure> out;
  for (const char* const name : {"tokens_per_s", "memory", "devices", "step_time", "mfu"}) {
    out.push_back(measure_of("search", name));
  }
  return out;
}

std::optional<double> rank_correlation(std::span<const std::pair<double, double>> pairs) {
  if (pairs.size() < 2) return std::nullopt;
  std::vector<double> first, second;
  for (const auto& [a, b] : pairs) {
    first.push_back(a);
    second.push_back(b);
  }
  first = ranks_of(first);
  second = ranks_of(second);
  const double mean_first = mean(first), mean_second = mean(second);
  double both = 0, of_first = 0, of_second = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double a = first[i] - mean_first, b = second[i] - mean_second;
    both += a * b;
    of_first += a * a;
    of_second += b * b;
  }
  if (!(of_first > 0) || !(of_second > 0)) return std::nullopt;
  return both / std::sqrt(of_first * of_second);
}

std::optional<double> regret_of_first(std::span<const std::pair<double, double>> pairs) {
  if (pairs.empty()) return std::nullopt;
  double most = 0;
  for (const auto& [folded, verified] : pairs) most = std::max(most, verified);
  return most > 0 ? std::optional(1 - pairs.front().second / most) : std::nullopt;
}

std::vector<SweepPoint> neighbours_of(const SearchOutcome& search, const SweepPoint& from) {
  std::vector<SweepPoint> out;
  for (const SweepPoint& point : search.folded.points) {
    const bool ended =
        point.state == PointState::failed ||
        (point.state == PointState::done && point.figures[kSearchTokens].has_value());
    if (ended && only_difference(search, from, point)) out.push_back(point);
  }
  std::ranges::stable_sort(out, std::greater{}, [](const SweepPoint& point) {
    return point.state == PointState::done ? *point.figures[kSearchTokens] : -1.0;
  });
  return out;
}

bool lacks_memory(const SweepPoint& point) {
  return point.state == PointState::failed &&
         point.outcome.reason.find(kLacksMemory) != std::string::npos;
}

std::string search_text(const SearchOutcome& search) {
  std::string out = counts_text(search);
  const std::vector<SweepPoint> best = best_layouts(search);
  if (best.empty()) return out + "no layout could be simulated\n";
  out += best_text(search);
  out += fmt::format("\nnone is better than these in tokens_per_s{}, memory and devices together\n",
                     search.again ? " at first look" : "") +
         points_table(search.folded, pareto_points(search.folded, kFrontMeasures));
  return out + neighbours_text(search, best.front());
}

}  // namespace exawarp::io
