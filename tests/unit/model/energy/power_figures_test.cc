// Extremes and spectra of curves whose answer is known.
#include "model/energy/power_figures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace exawarp::model {
namespace {

constexpr core::Time kMillisecond{1'000'000'000};

PowerSamples samples_of(const std::vector<double>& watts) {
  return {watts, kMillisecond, static_cast<std::int64_t>(watts.size()) * kMillisecond};
}

TEST(PowerFigures, SayWhereTheExtremesAndTheSteepestChangesAre) {
  const std::vector<double> watts{100, 100, 400, 350, 50, 60};
  const PowerFigures f = figures_of(samples_of(watts));
  EXPECT_DOUBLE_EQ(f.mean_w, 1060.0 / 6);
  EXPECT_EQ(f.peak_w, 400);
  EXPECT_EQ(f.peak_at, 2 * kMillisecond);
  EXPECT_EQ(f.least_w, 50);
  EXPECT_EQ(f.least_at, 4 * kMillisecond);
  EXPECT_DOUBLE_EQ(f.rise_w_per_s, 300'000);
  EXPECT_EQ(f.rise_at, 2 * kMillisecond);
  EXPECT_DOUBLE_EQ(f.fall_w_per_s, 300'000);
  EXPECT_EQ(f.fall_at, 4 * kMillisecond);
}

TEST(PowerFigures, WeighABinThatEndsEarlyAndSeeNoChangeIntoIt) {
  const std::vector<double> watts{100, 100, 500};
  const PowerFigures f = figures_of({watts, kMillisecond, core::Time{2'500'000'000}});
  EXPECT_DOUBLE_EQ(f.mean_w, (100 + 100 + 0.5 * 500) / 2.5);
  EXPECT_EQ(f.rise_w_per_s, 0);
}

std::vector<double> wave(std::size_t bins, double cycles, double amplitude) {
  std::vector<double> watts;
  for (std::size_t i = 0; i < bins; ++i) {
    const double turn = cycles * static_cast<double>(i) / static_cast<double>(bins);
    watts.push_back(1'000 + amplitude * std::sin(2 * std::numbers::pi * turn));
  }
  return watts;
}

TEST(Spectrum, FindsAWaveBetweenTheBinsOfTheTransform) {
  const std::vector<double> watts = wave(1'000, 12.3, 50);  // of 1 s: 12.3 Hz
  const auto lines = spectrum_of(samples_of(watts));
  ASSERT_FALSE(lines.empty());
  EXPECT_NEAR(lines[0].hz, 12.3, 0.02);
  EXPECT_NEAR(lines[0].amplitude_w, 50, 1);
}

TEST(Spectrum, ListsTheStrongestFirst) {
  std::vector<double> watts = wave(1'024, 20, 30);
  const std::vector<double> faster = wave(1'024, 90, 80);
  for (std::size_t i = 0; i < watts.size(); ++i) watts[i] += faster[i];
  const auto lines = spectrum_of(samples_of(watts), 2);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NEAR(lines[0].hz, 90 / 1.024, 0.05);
  EXPECT_NEAR(lines[1].hz, 20 / 1.024, 0.05);
  EXPECT_NEAR(lines[1].amplitude_w, 30, 1);
}

TEST(Spectrum, IsEmptyWhereNothingChangesOrLittleIsKnown) {
  EXPECT_TRUE(spectrum_of(samples_of(std::vector<double>(100, 700))).empty());
  EXPECT_TRUE(spectrum_of(samples_of(wave(7, 2, 100))).empty());
}

}  // namespace
}  // namespace exawarp::model
