// PHOLD in every mode: the same digest, and as many events as the yardstick executes.
#include <gtest/gtest.h>

#include "pdes/phold.h"
#include "tests/support/run_matrix.h"

namespace exawarp::tests {
namespace {

class PholdDifferential : public testing::Test {
 protected:
  std::unique_ptr<pdes::Model> model_ = pdes::make_phold({.lps = 256, .start_events = 2});
  MatrixModel matrix_{.model = model_.get(),
                      .placer = tests::blocks_of(256, 2),
                      .end = 40 * pdes::kPholdUnit};
};

TEST_F(PholdDifferential, SequentialExecutesWhatTheYardstickExecutes) {
  // phold_baseline 256 2 0.5 40 1
  EXPECT_EQ(tests::run_case(matrix_, {}).total.committed_events(), 18512u);
}

TEST_F(PholdDifferential, EveryModeGivesTheSequentialDigest) {
  const pdes::RunResult expected = tests::run_case(matrix_, {});
  for (const RunCase& run : tests::differential_cases(core::Time{100'000})) {
    const pdes::RunResult result = tests::run_case(matrix_, run);
    EXPECT_EQ(to_hex(result.digest), to_hex(expected.digest)) << run.text();
    EXPECT_EQ(result.total.committed_events(), expected.total.committed_events()) << run.text();
    EXPECT_EQ(result.last_event, expected.last_event) << run.text();
  }
}

TEST_F(PholdDifferential, AWindowBeyondTheLookaheadRollsBack) {
  const pdes::RunResult result = tests::run_case(matrix_, {.sync = pdes::Sync::optimistic,
                                                          .threads = 2,
                                                          .partitions_per_rank = 4,
                                                          .window = 3 * pdes::kPholdUnit});
  EXPECT_GT(result.total.rolled_back_events, 0u);
  EXPECT_GT(result.total.anti_messages, 0u);
}

TEST_F(PholdDifferential, RollsBackNothingConservatively) {
  const pdes::RunResult result = tests::run_case(
      matrix_, {.sync = pdes::Sync::conservative, .threads = 2, .partitions_per_rank = 4});
  EXPECT_EQ(result.total.rolled_back_events, 0u);
}

TEST_F(PholdDifferential, PassesTheRollbackAudit) {
  const pdes::RunResult expected = tests::run_case(matrix_, {});
  const pdes::RunResult result = tests::run_case(matrix_, {.sync = pdes::Sync::optimistic,
                                                          .ranks = 2,
                                                          .threads = 2,
                                                          .partitions_per_rank = 3,
                                                          .window = 2 * pdes::kPholdUnit,
                                                          .audit_probability = 0.5});
  EXPECT_EQ(result.digest, expected.digest);
  EXPECT_GT(result.total.audited_events, 1000u);
}

TEST_F(PholdDifferential, ATimeSeriesChangesNothingAndEndsAtTheTotals) {
  const pdes::RunResult expected = tests::run_case(matrix_, {});
  for (const std::uint32_t ranks : {1u, 3u}) {
    const pdes::RunResult result = tests::run_case(matrix_, {.sync = pdes::Sync::optimistic,
                                                            .ranks = ranks,
                                                            .threads = 2,
                                                            .partitions_per_rank = 2,
                                                            .chaos_seed = ranks == 1 ? 0u : 5u,
                                                            .sample_interval_s = 1e-9});
    EXPECT_EQ(result.digest, expected.digest);
    const pdes::TimeSeries& series = result.series;
    ASSERT_EQ(series.ranks, ranks);
    ASSERT_GT(series.moments.size(), 2u);
    EXPECT_GE(series.moments.back().gvt, result.last_event);
    EXPECT_LE(series.moments.back().gvt, matrix_.end);
    pdes::PartitionFigures last;
    for (std::uint32_t r = 0; r < ranks; ++r)
      for (const auto& p : series.of_partitions(series.moments.size() - 1, r)) last.add(p);
    EXPECT_EQ(last.processed_events, result.total.processed_events);
    EXPECT_EQ(last.rolled_back_events, result.total.rolled_back_events);
    EXPECT_EQ(last.history_events, 0u);
    for (std::size_t m = 1; m < series.moments.size(); ++m)
      EXPECT_GE(series.moments[m].gvt, series.moments[m - 1].gvt);
  }
}

TEST_F(PholdDifferential, FinishesInABudgetTooSmallForFreeOptimism) {
  const pdes::RunResult expected = tests::run_case(matrix_, {});
  const pdes::RunResult result = tests::run_case(matrix_, {.sync = pdes::Sync::optimistic,
                                                          .threads = 2,
                                                          .partitions_per_rank = 4,
                                                          .window = 30 * pdes::kPholdUnit,
                                                          .memory_budget_bytes = 1});
  EXPECT_EQ(result.digest, expected.digest);
  EXPECT_LE(result.total.history_peak, 64u);
}

}  // namespace
}  // namespace exawarp::tests
