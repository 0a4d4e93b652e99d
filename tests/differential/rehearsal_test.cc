// A run that goes through the epochs of a larger one: what it executes, undoes and sends is what
// that would.
#include "pdes/rehearsal.h"

#include <gtest/gtest.h>

#include <numeric>

#include "pdes/engine.h"
#include "pdes/phold.h"
#include "pdes/transport.h"
#include "tests/support/run_matrix.h"

namespace exawarp::tests {
namespace {

constexpr std::uint32_t kRanks = 2, kPartitions = 3;
constexpr core::Time kEnd = 40 * pdes::kPholdUnit;

class Recorded final : public pdes::Rehearsal {
 public:
  [[nodiscard]] std::uint32_t ranks() const override { return kRanks; }
  [[nodiscard]] std::uint32_t threads() const override { return 2; }
  std::uint64_t lost_ns(const pdes::RehearsedEpoch& epoch) override {
    ++epochs;
    EXPECT_EQ(epoch.busy_ns.size(), kRanks * kPartitions);
    departures = std::accumulate(epoch.departures.begin(), epoch.departures.end(), departures);
    committed = epoch.committed_events;
    return lost;
  }
  [[nodiscard]] bool is_over() const override { return epochs >= epochs_most; }

  std::uint64_t epochs = 0, epochs_most = ~std::uint64_t{0}, departures = 0, committed = 0;
  std::uint64_t lost = 1'000;  // in each epoch
};

class RehearsalOfPhold : public testing::Test {
 protected:
  pdes::RunResult rehearsed(core::Time window, std::uint32_t threads = 1) {
    core::Placement placement = matrix_.placer(kRanks, kPartitions);
    placement.partitions_per_rank = placement.partitions();
    placement.ranks = 1;
    const auto transport = pdes::make_single_transport();
    pdes::Engine engine(
        *model_, placement,
        {.threads = threads, .end = matrix_.end, .window = window, .rehearsal = &recorded_},
        *transport);
    return engine.run();
  }
  pdes::RunResult parallel(core::Time window) const {
    return run_case(matrix_, {.sync = pdes::Sync::optimistic,
                              .ranks = kRanks,
                              .threads = 2,
                              .partitions_per_rank = kPartitions,
                              .window = window});
  }

  std::unique_ptr<pdes::Model> model_ = pdes::make_phold({.lps = 256, .start_events = 2});
  MatrixModel matrix_{.model = model_.get(), .placer = blocks_of(256, 2), .end = kEnd};
  Recorded recorded_;
};

class RehearsalOnThreads : public RehearsalOfPhold,
                           public testing::WithParamInterface<std::uint32_t> {};

TEST_P(RehearsalOnThreads, GoesThroughTheEpochsOfTheRunThatItRehearses) {
  const core::Time window = 3 * pdes::kPholdUnit;
  const pdes::RunResult mine = rehearsed(window, GetParam()), run = parallel(window);
  EXPECT_EQ(mine.digest, run.digest);
  EXPECT_EQ(mine.total.gvt_rounds, run.total.gvt_rounds);
  EXPECT_EQ(mine.total.processed_events, run.total.processed_events);
  EXPECT_EQ(mine.total.rolled_back_events, run.total.rolled_back_events);
  EXPECT_GT(mine.total.rolled_back_events, 0u);
  EXPECT_EQ(mine.total.rank_events, run.total.rank_events);
  EXPECT_EQ(recorded_.departures, run.total.rank_events);
  EXPECT_EQ(recorded_.epochs + 1, mine.total.gvt_rounds);
  EXPECT_EQ(recorded_.committed, run.total.committed_events());
}

INSTANTIATE_TEST_SUITE_P(Threads, RehearsalOnThreads, testing::Values(1, 2, 4));

TEST_F(RehearsalOfPhold, HasTheSameResultsWhateverItsWindowBecomes) {
  EXPECT_EQ(rehearsed(core::Time{0}).digest, parallel(core::Time{0}).digest);
}

TEST_F(RehearsalOfPhold, EndsWhenItIsOver) {
  recorded_.epochs_most = 3;
  const pdes::RunResult result = rehearsed(3 * pdes::kPholdUnit);
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(recorded_.epochs, 4u);  // it is asked before it knows of an epoch
}

// The window weighs what is lost against the time that partitions work, which is far more than 1 ns
// and far less than a second.
TEST_F(RehearsalOfPhold, HasLongerEpochsWhereMoreIsLost) {
  constexpr std::uint32_t kLps = 8'192;
  model_ = pdes::make_phold({.lps = kLps, .start_events = 8});
  matrix_ = {.model = model_.get(), .placer = blocks_of(kLps, 2), .end = 4 * pdes::kPholdUnit};
  recorded_.lost = 1;
  const std::uint64_t short_ones = rehearsed(core::Time{0}).total.gvt_rounds;
  recorded_.lost = 1'000'000'000;
  EXPECT_LT(rehearsed(core::Time{0}).total.gvt_rounds, short_ones);
}

}  // namespace
}  // namespace exawarp::tests
