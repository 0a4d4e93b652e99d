// Requests that are drawn: means and deviations within four standard errors, and the seed's part.
#include "model/serving/arrivals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace exawarp::tests {
namespace {

using namespace model::serving;

constexpr std::uint64_t kMany = 100'000;

struct Moments {
  double mean = 0, deviation = 0;
};

Moments moments_of(const std::vector<double>& values) {
  Moments out;
  for (const double v : values) out.mean += v / static_cast<double>(values.size());
  double squares = 0;
  for (const double v : values) squares += (v - out.mean) * (v - out.mean);
  out.deviation = std::sqrt(squares / static_cast<double>(values.size()));
  return out;
}

std::vector<double> intervals_of(const ArrivalSpec& spec) {
  std::vector<double> out;
  core::Time last{0};
  for (const core::Time at : draw_arrivals(spec, kMany, 7)) {
    out.push_back(core::to_seconds(at - last));
    last = at;
  }
  return out;
}

TEST(ServingArrivals, OfGammaHaveTheirMeanAndVariation) {
  for (const double variation : {0.2, 0.7, 1.0, 1.6, 3.0}) {
    const Moments m =
        moments_of(intervals_of({.kind = Arrivals::gamma, .rate = 10, .variation = variation}));
    const double error = variation / std::sqrt(static_cast<double>(kMany));
    EXPECT_NEAR(m.mean * 10, 1, 4 * error) << variation;
    // The fourth moment of gamma makes the deviation's error sqrt((1 + 3 v^2) / 2) times larger.
    EXPECT_NEAR(m.deviation * 10 / variation, 1,
                4 * std::sqrt((1 + 3 * variation * variation) / 2 / static_cast<double>(kMany)))
        << variation;
  }
}

TEST(ServingArrivals, OfPoissonAreExponential) {
  std::vector<double> intervals = intervals_of({.kind = Arrivals::poisson, .rate = 4});
  EXPECT_NEAR(moments_of(intervals).mean * 4, 1, 4 / std::sqrt(static_cast<double>(kMany)));
  std::ranges::sort(intervals);
  EXPECT_NEAR(intervals[kMany / 2] * 4, std::log(2.0), 0.02);
}

TEST(ServingArrivals, AreEvenOrByTheSeed) {
  const auto even = draw_arrivals({.kind = Arrivals::constant, .rate = 8}, 3, 1);
  EXPECT_EQ(even[2].ps, 3 * 125'000'000'000);
  const ArrivalSpec gamma{.kind = Arrivals::gamma, .rate = 1, .variation = 2};
  EXPECT_EQ(draw_arrivals(gamma, 50, 1), draw_arrivals(gamma, 50, 1));
  EXPECT_NE(draw_arrivals(gamma, 50, 1), draw_arrivals(gamma, 50, 2));
}

TEST(ServingLengths, KeepTheirBoundsAndWeights) {
  const LengthSpec uniform{.kind = Lengths::uniform, .least = 5, .most = 9};
  const auto u = draw_lengths(uniform, kMany, LengthOf::prompt, 3);
  EXPECT_EQ(*std::ranges::min_element(u), 5u);
  EXPECT_EQ(*std::ranges::max_element(u), 9u);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(u, 7u)) / kMany, 0.2, 0.006);
  const LengthSpec zipf{.kind = Lengths::zipf, .least = 10, .most = 12, .exponent = 1};
  const auto z = draw_lengths(zipf, kMany, LengthOf::prompt, 3);
  const double sum = 1 + 1.0 / 2 + 1.0 / 3;
  EXPECT_NEAR(static_cast<double>(std::ranges::count(z, 10u)) / kMany, 1 / sum, 0.007);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(z, 12u)) / kMany, 1 / sum / 3, 0.006);
  EXPECT_NE(draw_lengths(zipf, 100, LengthOf::output, 3),
            draw_lengths(zipf, 100, LengthOf::prompt, 3));
}

}  // namespace
}  // namespace exawarp::tests
