#include "model/serving/time_curve.h"

#include <algorithm>

#include "core/check.h"
#include "core/time.h"

namespace exawarp::model::serving {

void TimeCurve::add(std::uint64_t x, std::int64_t ps) {
  EXAWARP_CHECK(x_.empty() || x > x_.back(), x);
  x_.push_back(x);
  ps_.push_back(ps);
}

std::int64_t TimeCurve::at(std::uint64_t x) const {
  if (x_.size() == 1) return ps_.front();
  const auto above = std::ranges::lower_bound(x_, x);
  auto i = static_cast<std::size_t>(above - x_.begin());
  if (i < x_.size() && x_[i] == x) return ps_[i];
  i = std::clamp<std::size_t>(i, 1, x_.size() - 1);
  const core::WidePs rise = ps_[i] - ps_[i - 1];
  const core::WidePs run = static_cast<core::WidePs>(x_[i]) - x_[i - 1];
  const core::WidePs along = static_cast<core::WidePs>(x) - x_[i - 1];
  return core::time_to_end(std::max<core::WidePs>(0, ps_[i - 1] + rise * along / run)).ps;
}

TimeCurve& TimePlane::add_row(std::uint64_t row) {
  EXAWARP_CHECK(rows_.empty() || row > rows_.back(), row);
  rows_.push_back(row);
  return curves_.emplace_back();
}

std::int64_t TimePlane::at(std::uint64_t row, std::uint64_t x) const {
  const auto above = std::ranges::lower_bound(rows_, row);
  if (above == rows_.end()) {
    return core::time_to_end(core::WidePs{curves_.back().at(x)} * row / rows_.back()).ps;
  }
  const auto i = static_cast<std::size_t>(above - rows_.begin());
  const core::WidePs high = curves_[i].at(x);
  if (*above == row || i == 0) return static_cast<std::int64_t>(high);
  const core::WidePs low = curves_[i - 1].at(x);
  const std::uint64_t from = rows_[i - 1];
  return static_cast<std::int64_t>(low + (high - low) * (row - from) / (*above - from));
}

}  // namespace exawarp::model::serving
