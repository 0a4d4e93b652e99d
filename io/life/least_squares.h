// Few numbers by linear least squares, each within bounds and drawn weakly to a value of its own.
//
//   minimise  sum over rows  weight * (residual + slopes . change)^2
//           + sum over numbers  ((value + change - usual) / spread)^2
//
// By coordinates in turn: exact along each, and the function is convex, so it comes to the one
// minimum. A number that no row depends on goes to what is usual.
// Cost: numbers^2 a sweep, after rows * numbers^2 once.
#pragma once

#include <vector>

namespace exawarp::io {

struct BoundedNumber {
  double value = 0;  // where the slopes were taken
  double usual = 0, spread = 1;
  double least = 0, most = 1;  // requires least <= value <= most
};

struct LinearRow {
  double residual = 0, weight = 1;
  std::vector<double> slopes;  // one a number
};

// As many values as numbers.
std::vector<double> least_squares(const std::vector<BoundedNumber>& numbers,
                                  const std::vector<LinearRow>& rows);

}  // namespace exawarp::io
