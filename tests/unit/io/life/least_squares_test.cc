#include "io/life/least_squares.h"

#include <gtest/gtest.h>

namespace exawarp::tests {
namespace {

using namespace io;

// Weak enough that it moves nothing by more than 1e-6.
constexpr double kHardlyDrawn = 1e3;

TEST(LeastSquares, FindsTheNumbersThatRowsAreMadeOf) {
  // Residuals of rows at (1, 2) where (1.5, -1) is right.
  const std::vector<BoundedNumber> numbers{
      {.value = 1, .usual = 1, .spread = kHardlyDrawn, .least = -10, .most = 10},
      {.value = 2, .usual = 2, .spread = kHardlyDrawn, .least = -10, .most = 10}};
  std::vector<LinearRow> rows;
  for (const auto& [a, b] : {std::pair{1.0, 0.0}, {0.3, 2.0}, {1.0, 1.0}}) {
    rows.push_back({.residual = -(0.5 * a - 3.0 * b), .slopes = {a, b}});
  }
  const auto found = least_squares(numbers, rows);
  EXPECT_NEAR(found[0], 1.5, 1e-4);
  EXPECT_NEAR(found[1], -1, 1e-4);
}

TEST(LeastSquares, KeepsBoundsAndWhatNoRowKnowsGoesToWhatIsUsual) {
  const std::vector<BoundedNumber> numbers{
      {.value = 1, .usual = 1, .spread = kHardlyDrawn, .least = 0.5, .most = 1.25},
      {.value = 3, .usual = 2, .spread = 1, .least = 0, .most = 10}};
  const auto found = least_squares(numbers, {{.residual = -1, .slopes = {1, 0}}});
  EXPECT_DOUBLE_EQ(found[0], 1.25);
  EXPECT_NEAR(found[1], 2, 1e-9);
}

// One number, two rows that want 0 and 1: 3 times the weight draws it to 3/4.
TEST(LeastSquares, RowsCountByTheirWeights) {
  const auto found = least_squares(
      {{.value = 0, .usual = 0, .spread = kHardlyDrawn, .least = -1, .most = 2}},
      {{.residual = 0, .weight = 1, .slopes = {1}}, {.residual = -1, .weight = 3, .slopes = {1}}});
  EXPECT_NEAR(found[0], 0.75, 1e-5);
}

}  // namespace
}  // namespace exawarp::tests
