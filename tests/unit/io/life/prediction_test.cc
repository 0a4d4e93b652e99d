// From a sample to the whole run: arithmetic.
#include "io/life/prediction.h"

#include <gtest/gtest.h>

#include "io/life/machine_costs.h"

namespace exawarp::tests {
namespace {

using namespace io;

TEST(WholeRun, HasAsManyEventsAsIsKnown) {
  EXPECT_EQ(times_sample({.events = 10, .events_in_all = 40}), 4);
  EXPECT_EQ(times_sample({.events = 10, .events_in_all = 40, .whole = true}), 1);
  EXPECT_EQ(times_sample({.events = 10}), 1);                        // nothing is known
  EXPECT_EQ(times_sample({.events = 10, .events_in_all = 8}), 1);    // more than was thought
  EXPECT_EQ(times_sample({.events = 0, .events_in_all = 8}), 1);
}

TEST(RankMemory, IsThatOfTheRankWithMost) {
  PlanSample s{.peak_bytes = 50, .resident_bytes = 40, .lp_bytes = 100, .directory_bytes = 3};
  s.partition_bytes = {10, 10, 10, 30};
  EXPECT_EQ(rank_bytes_of(s, 1), 40u + 100 + 3 + 60);
  EXPECT_EQ(rank_bytes_of(s, 2), kMpiBytes + 40 + 50 + 3 + 40);
  EXPECT_EQ(rank_bytes_of(s, 4), kMpiBytes + 40 + 25 + 3 + 30);
  s.grown_bytes = 163 + 80;  // beyond what is counted
  EXPECT_EQ(rank_bytes_of(s, 2), kMpiBytes + 40 + 50 + 3 + 40 + 40);
  s.peak_bytes = 1'000;  // before the engine
  EXPECT_EQ(rank_bytes_of(s, 4), kMpiBytes + 1'000);
}

TEST(SmallerShapes, AreHalvesDownToOneWorker) {
  const std::vector<RunShape> expected{{1, 1}, {1, 2}, {1, 4}, {2, 1}, {2, 2}, {2, 4}};
  EXPECT_EQ(smaller_shapes({2, 4}), expected);
  EXPECT_EQ(smaller_shapes({3, 1}), (std::vector<RunShape>{{1, 1}, {3, 1}}));
  EXPECT_EQ(smaller_shapes({1, 1}), (std::vector<RunShape>{{1, 1}}));
}

TEST(Advice, IsTheFewestWorkersThatAreNearlyTheFastest) {
  const PlannedShape choices[] = {
      {{1, 1}, 10.0}, {{1, 2}, 6.0}, {{2, 1}, 5.4}, {{2, 2}, 5.0}, {{2, 4}, 5.5}};
  EXPECT_EQ(advised_shape(choices), (RunShape{2, 1}));
  EXPECT_EQ(advised_shape(std::span(choices).first(1)), (RunShape{1, 1}));
}

TEST(Limit, IsTheLargestShare) {
  EXPECT_EQ(limit_of({.work_ns = 5, .imbalance_ns = 4}), PlanLimit::work);
  EXPECT_EQ(limit_of({.work_ns = 5, .imbalance_ns = 6}), PlanLimit::imbalance);
  EXPECT_EQ(limit_of({.work_ns = 5, .barrier_ns = 6}), PlanLimit::barriers);
  EXPECT_EQ(limit_of({.work_ns = 5, .exchange_ns = 6}), PlanLimit::exchange);
}

// Two ranks of one thread, whose partitions take so long in each of `epochs` epochs.
PlanReport predicted(std::vector<std::uint64_t> busy_ns, const PlanSample& sample, int epochs) {
  const std::vector<RunShape> shapes{{2, 1}, {1, 1}};
  PlannedEpochs planned({{.shape = shapes[0], .costs = {}}, {.shape = shapes[1], .costs = {}}}, 5);
  const std::vector<std::uint64_t> sent(busy_ns.size());
  for (int e = 0; e < epochs; ++e) {
    planned.lost_ns({.busy_ns = busy_ns, .departures = sent, .serial_ns = 0});
  }
  PlanReport report;
  report.shape = shapes[0];
  predict(sample, planned, shapes, report);
  return report;
}

const PlanSample kQuarter{.prepared_s = 1,
                          .constructed_s = 0.5,
                          .events = 1'000,
                          .processed = 1'100,
                          .undone = 100,
                          .events_in_all = 4'000,
                          .partition_bytes = {1, 1}};

TEST(Prediction, OfBalancedWorkIsHalfOfItOnTwoRanks) {
  const PlanReport r = predicted({1'000'000, 1'000'000}, kQuarter, 10);
  EXPECT_EQ(r.events, 4'000u);
  EXPECT_NEAR(r.run_s, 4 * 10 * 0.001, 1e-12);
  EXPECT_NEAR(r.times.work_ns, r.times.wall_ns(), 1e-6);
  ASSERT_EQ(r.choices.size(), 2u);
  EXPECT_EQ(r.choices[0].shape, (RunShape{1, 1}));
  EXPECT_NEAR(r.choices[0].run_s, 2 * r.run_s, 1e-12);
  EXPECT_EQ(r.advised, (RunShape{2, 1}));
  EXPECT_EQ(r.limit, PlanLimit::work);
  EXPECT_NEAR(r.setup_s, 1.25, 1e-12);
  EXPECT_NEAR(r.undone, 100.0 / 1'100, 1e-12);
}

TEST(Prediction, OfOneBusyPartitionGainsNothing) {
  const PlanReport r = predicted({2'000'000, 0}, kQuarter, 10);
  EXPECT_NEAR(r.run_s, r.choices[0].run_s, 1e-12);
  EXPECT_NEAR(r.times.imbalance_ns, r.times.work_ns, 1e-6);
  EXPECT_EQ(r.advised, (RunShape{1, 1}));
}

TEST(Prediction, OfAHeavierPartitionWaitsForIt) {
  const PlanReport r = predicted({3'000'000, 1'000'000}, kQuarter, 10);
  EXPECT_NEAR(r.run_s, 4 * 10 * 0.003, 1e-12);
  EXPECT_NEAR(r.choices[0].run_s, 4 * 10 * 0.004, 1e-12);
}

TEST(Prediction, OfASampleThatIsAllIsWhatItTook) {
  PlanSample all = kQuarter;
  all.whole = true;
  const PlanReport r = predicted({1'000'000, 1'000'000}, all, 10);
  EXPECT_EQ(r.events, 1'000u);
  EXPECT_NEAR(r.run_s, 10 * 0.001, 1e-12);
  EXPECT_EQ(r.run_low_s, r.run_s);
  EXPECT_EQ(r.run_high_s, r.run_s);
}

TEST(MachineCosts, GrowWithWhoHasToMeet) {
  EXPECT_EQ(rounds_between(1), 0u);
  EXPECT_EQ(rounds_between(2), 1u);
  EXPECT_EQ(rounds_between(3), 2u);
  EXPECT_EQ(rounds_between(8), 3u);
  EXPECT_EQ(rounds_between(9), 4u);
  const MachineCosts costs({.ranks = 2, .threads = 2});
  const EpochCosts alone = costs.of({1, 1}, 1, 20e-6);
  EXPECT_EQ(alone.barrier_ns, 0);
  EXPECT_EQ(alone.exchange_ns, 0);
  EXPECT_GE(costs.of({1, 64}, 1, 0).barrier_ns, costs.of({1, 2}, 1, 0).barrier_ns);
  EXPECT_GE(costs.of({64, 1}, 1, 0).exchange_ns, costs.of({2, 1}, 1, 0).exchange_ns);
  const double on_one = costs.of({4, 1}, 2, 0).exchange_ns;
  EXPECT_NEAR(costs.of({4, 1}, 2, 20e-6).exchange_ns - on_one, 20'000, 1e-6);
}

}  // namespace
}  // namespace exawarp::tests
