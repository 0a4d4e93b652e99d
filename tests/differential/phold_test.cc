// PHOLD in every mode: the same digest, and as many events as the yardstick executes.
#include <gtest/gtest.h>

#include "pdes/phold.h"
#include "tests/support/run_matrix.h"

namespace exawarp {
namespace {

using test::MatrixModel;
using test::RunCase;

class PholdDifferential : public testing::Test {
 protected:
  std::unique_ptr<pdes::Model> model_ = pdes::make_phold({.lps = 256, .start_events = 2});
  MatrixModel matrix_{.model = model_.get(),
                      .placer = test::blocks_of(256, 2),
                      .end = 40 * pdes::kPholdUnit};
};

TEST_F(PholdDifferential, SequentialExecutesWhatTheYardstickExecutes) {
  // phold_baseline 256 2 0.5 40 1
  EXPECT_EQ(test::run_case(matrix_, {}).total.committed_events(), 18512u);
}

TEST_F(PholdDifferential, EveryModeGivesTheSequentialDigest) {
  const pdes::RunResult expected = test::run_case(matrix_, {});
  for (const RunCase& run : test::differential_cases(core::Time{100'000})) {
    const pdes::RunResult result = test::run_case(matrix_, run);
    EXPECT_EQ(to_hex(result.digest), to_hex(expected.digest)) << run.text();
    EXPECT_EQ(result.total.committed_events(), expected.total.committed_events()) << run.text();
    EXPECT_EQ(result.last_event, expected.last_event) << run.text();
  }
}

TEST_F(PholdDifferential, AWindowBeyondTheLookaheadRollsBack) {
  const pdes::RunResult result = test::run_case(matrix_, {.sync = pdes::Sync::optimistic,
                                                          .threads = 2,
                                                          .partitions_per_rank = 4,
                                                          .window = 3 * pdes::kPholdUnit});
  EXPECT_GT(result.total.rolled_back_events, 0u);
  EXPECT_GT(result.total.anti_messages, 0u);
}

TEST_F(PholdDifferential, RollsBackNothingConservatively) {
  const pdes::RunResult result = test::run_case(
      matrix_, {.sync = pdes::Sync::conservative, .threads = 2, .partitions_per_rank = 4});
  EXPECT_EQ(result.total.rolled_back_events, 0u);
}

TEST_F(PholdDifferential, PassesTheRollbackAudit) {
  const pdes::RunResult expected = test::run_case(matrix_, {});
  const pdes::RunResult result = test::run_case(matrix_, {.sync = pdes::Sync::optimistic,
                                                          .ranks = 2,
                                                          .threads = 2,
                                                          .partitions_per_rank = 3,
                                                          .window = 2 * pdes::kPholdUnit,
                                                          .audit_probability = 0.5});
  EXPECT_EQ(result.digest, expected.digest);
  EXPECT_GT(result.total.audited_events, 1000u);
}

TEST_F(PholdDifferential, FinishesInABudgetTooSmallForFreeOptimism) {
  const pdes::RunResult expected = test::run_case(matrix_, {});
  const pdes::RunResult result = test::run_case(matrix_, {.sync = pdes::Sync::optimistic,
                                                          .threads = 2,
                                                          .partitions_per_rank = 4,
                                                          .window = 30 * pdes::kPholdUnit,
                                                          .memory_budget_bytes = 1});
  EXPECT_EQ(result.digest, expected.digest);
  EXPECT_LE(result.total.history_peak, 64u);
}

}  // namespace
}  // namespace exawarp
