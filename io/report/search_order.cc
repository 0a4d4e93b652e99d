#include "io/report/search_order.h"

#include <algorithm>
#include <functional>

#include "io/report/sweep_report.h"

namespace exawarp::io {
namespace {

constexpr std::size_t kUsualCount = 10;

}  // namespace

std::size_t layouts_to_look_at(std::span<const double> first,
                               std::span<const std::optional<double>> again, std::size_t best,
                               std::size_t most) {
  const std::size_t count = std::min(first.size(), most);
  std::size_t out = std::min(again.size() + best, count);
  if (again.size() < best) return out;
  std::vector<double> figures;
  for (std::size_t i = 0; i < again.size(); ++i) figures.push_back(again[i].value_or(first[i]));
  std::ranges::nth_element(figures, figures.begin() + static_cast<std::ptrdiff_t>(best - 1),
                           std::greater{});
  while (out > again.size() && first[out - 1] <= figures[best - 1]) --out;
  return out;
}

std::vector<std::optional<double>> second_figures(const SweepResults& again) {
  std::vector<std::optional<double>> out;
  for (const SweepPoint& point : again.points) {
    out.push_back(point.state == PointState::done ? point.figures[kSearchTokens] : std::nullopt);
  }
  return out;
}

std::vector<SweepPoint> best_layouts(const SearchOutcome& search) {
  const std::size_t count = search.best == 0 ? kUsualCount : search.best;
  if (!search.again) return best_points(search.folded, count);
  const std::vector<std::optional<double>> again = second_figures(*search.again);
  std::vector<SweepPoint> all = best_points(search.folded, again.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i].figures.push_back(again[i]);
  std::ranges::stable_sort(all, std::greater{}, [&](const SweepPoint& layout) {
    return deciding_figure(search, layout);
  });
  all.resize(std::min(all.size(), count));
  return all;
}

double deciding_figure(const SearchOutcome& search, const SweepPoint& layout) {
  const double first = *layout.figures[kSearchTokens];
  return search.again ? layout.figures[search.folded.measures.size()].value_or(first) : first;
}

}  // namespace exawarp::io
