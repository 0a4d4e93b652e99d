#include "io/life/least_squares.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/check.h"

namespace exawarp::io {

std::vector<double> least_squares(const std::vector<BoundedNumber>& numbers,
                                  const std::vector<LinearRow>& rows) {
  const std::size_t n = numbers.size();
  // Of the quadratic form change' A change + 2 b change.
  std::vector<std::vector<double>> a(n, std::vector<double>(n));
  std::vector<double> b(n), change(n);
  for (const LinearRow& row : rows) {
    EXAWARP_CHECK(row.slopes.size() == n, row.slopes.size(), n);
    for (std::size_t i = 0; i < n; ++i) {
      b[i] += row.weight * row.slopes[i] * row.residual;
      for (std::size_t j = 0; j < n; ++j) a[i][j] += row.weight * row.slopes[i] * row.slopes[j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    const BoundedNumber& number = numbers[i];
    EXAWARP_CHECK(number.least <= number.value && number.value <= number.most, number.value);
    const double pull = 1 / (number.spread * number.spread);
    a[i][i] += pull;
    b[i] += pull * (number.value - number.usual);
  }
  constexpr int kSweepsMax = 10'000;
  constexpr double kStill = 1e-12;  // of a number's range
  for (int sweep = 0; sweep < kSweepsMax; ++sweep) {
    double moved = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double slope = b[i];
      for (std::size_t j = 0; j < n; ++j) slope += a[i][j] * change[j];
      const BoundedNumber& number = numbers[i];
      const double next = std::clamp(change[i] - slope / a[i][i], number.least - number.value,
                                     number.most - number.value);
      moved = std::max(moved, std::abs(next - change[i]) / (number.most - number.least));
      change[i] = next;
    }
    if (moved < kStill) break;
  }
  for (std::size_t i = 0; i < n; ++i) change[i] += numbers[i].value;
  return change;
}

}  // namespace exawarp::io
