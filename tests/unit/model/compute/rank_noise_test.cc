// The expected maximum of noise against closed forms and against draws; and what it does to a run.
#include "model/compute/rank_noise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"
#include "core/random.h"
#include "model/workload/validate.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::Time;

double lag(Distribution distribution, double deviation, std::uint32_t ranks) {
  return 1e-9 * static_cast<double>(slowest_lag_ppb({deviation, distribution}, ranks));
}

// Harter, "Expected values of normal order statistics", Biometrika 48 (1961).
TEST(RankNoise, OfANormalDistributionIsTheTabulatedMaximum) {
  EXPECT_NEAR(lag(Distribution::normal, 0.1, 2), 0.1 / std::sqrt(std::numbers::pi), 2e-9);
  EXPECT_NEAR(lag(Distribution::normal, 0.1, 4), 0.102938, 1e-6);
  EXPECT_NEAR(lag(Distribution::normal, 0.1, 10), 0.153875, 1e-6);
  EXPECT_NEAR(lag(Distribution::normal, 0.1, 100), 0.250759, 1e-6);
}

TEST(RankNoise, OfOthersFollowsTheirClosedForms) {
  for (const std::uint32_t n : {2u, 7u, 64u}) {
    double harmonic = 0;
    for (std::uint32_t i = 1; i <= n; ++i) harmonic += 1.0 / i;
    EXPECT_NEAR(lag(Distribution::exponential, 0.2, n), 0.2 * (harmonic - 1), 1e-8) << n;
    EXPECT_NEAR(lag(Distribution::uniform, 0.2, n), 0.2 * std::numbers::sqrt3 * (n - 1) / (n + 1),
                1e-8)
        << n;
  }
  const double log_deviation = std::sqrt(std::log1p(0.3 * 0.3));
  EXPECT_NEAR(lag(Distribution::lognormal, 0.3, 2), std::erf(log_deviation / 2), 1e-8);
}

TEST(RankNoise, IsTheMeanOfTheLargestOfManyDraws) {
  constexpr std::uint32_t kRanks = 64, kTrials = 2'000;
  for (const Distribution of : {Distribution::lognormal, Distribution::exponential}) {
    const VariationSpec spec{0.02, of};
    const Variation variation(spec);
    double sum = 0;
    for (std::uint32_t t = 0; t < kTrials; ++t) {
      std::int64_t most = 0;
      for (std::uint32_t r = 0; r < kRanks; ++r) {
        most = std::max(most, variation.scaled(1'000'000'000, core::random_bits(t, r)));
      }
      sum += static_cast<double>(most - 1'000'000'000) * 1e-9;
    }
    const double expected = lag(of, 0.02, kRanks);
    EXPECT_NEAR(sum / kTrials, expected, 0.02 * expected);
  }
}

TEST(RankNoise, OfOneRankOrOfNoDeviationIsNothing) {
  EXPECT_EQ(slowest_lag_ppb(0.25, 1), 0);
  EXPECT_EQ(slowest_lag_ppb(0, 1'000), 0);
  EXPECT_EQ(lagged(Time{1'000}, 0).ps, 1'000);
}

TEST(RankNoise, GrowsWithRanksAndStopsAtTheEndOfTime) {
  std::int64_t before = 0;
  for (std::uint32_t n = 2; n <= 1u << 24; n *= 2) {
    const std::int64_t now = slowest_lag_ppb(0.006, n);
    EXPECT_GT(now, before) << n;
    before = now;
  }
  EXPECT_NEAR(1e-9 * static_cast<double>(before), 0.006 * 5.4, 0.006 * 0.1);
  EXPECT_EQ(lagged(core::kEndOfTime, before), core::kEndOfTime);
}

// Sixteen devices that compute for a millisecond.
TEST(RankNoise, StretchesWhatComputesWholeOrFolded) {
  WorkloadBuilder workload("compute");
  const auto axis = workload.add_axis("device", 16);
  ProgramBuilder& program = workload.add_program("p");
  program.add_stream("compute", schema::StreamKind::COMPUTE);
  program.add_node({.duration_ps = 1'000'000'000});
  workload.bind_range(0, {.axis = axis, .first = 0, .count = 16});
  WorkloadGraph graph = workload.build();
  validate(graph);
  const Time expected = lagged(Time{1'000'000'000}, slowest_lag_ppb(0.006, 16));
  EXPECT_GT(expected.ps, 1'010'000'000);
  for (const Folding folding : {Folding::off, Folding::required}) {
    const Cluster cluster(graph, tests::round_accelerator(), tests::round_fabric(),
                          {.analytical_network = true, .rank_noise = 0.006, .folding = folding});
    EXPECT_EQ(tests::run_cluster(cluster).outcome.simulated_time(), expected);
  }
}

// All devices compute, so all that stretches a run of two replicas is the lag of two.
TEST(RankNoise, CountsReplicasAndNotTheirDevices) {
  WorkloadBuilder workload("compute");
  const auto tensor = workload.add_axis("tensor", 4);
  workload.add_axis("data", 2);
  workload.add_axis("pipeline", 2);
  ProgramBuilder& program = workload.add_program("p");
  program.add_stream("compute", schema::StreamKind::COMPUTE);
  program.add_node({.duration_ps = 1'000'000'000});
  workload.bind_range(0, {.axis = tensor, .first = 0, .count = 4});
  WorkloadGraph graph = workload.build();
  validate(graph);
  const auto run = tests::simulate(std::move(graph), {.rank_noise = 0.006});
  EXPECT_EQ(run.outcome.simulated_time(), lagged(Time{1'000'000'000}, slowest_lag_ppb(0.006, 2)));
}

TEST(RankNoise, IsRefusedBeyondWhatItsDistributionCanBe) {
  const WorkloadGraph graph = tests::small_training_step({});
  EXPECT_THROW(
      Cluster(graph, tests::round_accelerator(), tests::round_fabric(), {.rank_noise = 0.3}),
      core::InputError);
}

}  // namespace
}  // namespace exawarp::tests
