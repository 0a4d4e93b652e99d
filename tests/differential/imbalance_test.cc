// One hot partition: most LPs, and with them most of the work, in the first of several partitions.
// Speed suffers; the answer must not, and no partition may hang.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/run_matrix.h"
#include "tests/support/storm_model.h"

namespace exawarp::tests {
namespace {

constexpr std::uint32_t kLps = 128;
constexpr std::uint32_t kAtomShift = 2;

// Of 32 atoms, one goes to each partition but the first, and the rest to the first.
core::Placement lopsided(std::uint32_t ranks, std::uint32_t per_rank) {
  core::Placement placement{.atom_shift = kAtomShift,
                            .partition_of_atom = {},
                            .partitions_per_rank = per_rank,
                            .ranks = ranks};
  placement.partition_of_atom.assign(kLps >> kAtomShift, 0);
  for (std::uint32_t p = 1; p < placement.partitions(); ++p)
    placement.partition_of_atom[placement.partition_of_atom.size() - p] =
        static_cast<std::uint16_t>(p);
  return placement;
}

class Imbalance : public testing::Test {
 protected:
  std::unique_ptr<pdes::Model> model_ = tests::make_storm(
      {.lps = kLps, .atom_shift = kAtomShift, .starts_per_lp = 4, .hops = 60, .hot_lps = 4});
  tests::MatrixModel matrix_{.model = model_.get(), .placer = lopsided};
};

TEST_F(Imbalance, OneHotPartitionChangesNoAnswer) {
  const pdes::RunResult expected = tests::run_case(matrix_, {});
  for (const std::uint32_t ranks : {1u, 2u, 4u})
    for (const std::uint32_t threads : {1u, 2u, 4u}) {
      const tests::RunCase run{.sync = pdes::Sync::optimistic,
                              .ranks = ranks,
                              .threads = threads,
                              .partitions_per_rank = 4,
                              .chaos_seed = ranks == 1 ? 0u : 3u};
      const pdes::RunResult result = tests::run_case(matrix_, run);
      EXPECT_EQ(to_hex(result.digest), to_hex(expected.digest)) << run.text();
      EXPECT_EQ(result.total.committed_events(), expected.total.committed_events()) << run.text();
    }
}

TEST_F(Imbalance, OneHotPartitionReallyHasMostOfTheWork) {
  const pdes::RunResult result = tests::run_case(
      matrix_, {.sync = pdes::Sync::optimistic, .threads = 2, .partitions_per_rank = 4});
  std::uint64_t most = 0;
  for (const pdes::Statistics& s : result.partitions) most = std::max(most, s.committed_events());
  EXPECT_GT(10 * most, 7 * result.total.committed_events());
}

TEST_F(Imbalance, OneHotPartitionFinishesInASmallMemoryBudget) {
  const pdes::RunResult expected = tests::run_case(matrix_, {});
  const pdes::RunResult result = tests::run_case(matrix_, {.sync = pdes::Sync::optimistic,
                                                          .threads = 2,
                                                          .partitions_per_rank = 4,
                                                          .window = core::Time{100'000},
                                                          .memory_budget_bytes = 1});
  EXPECT_EQ(to_hex(result.digest), to_hex(expected.digest));
}

}  // namespace
}  // namespace exawarp::tests
