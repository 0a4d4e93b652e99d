// Models that become others while they run: one digest in every mode, and what goes on from a cut
// before the change is what knew of it from the start.
#include "pdes/changing_model.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/support/run_matrix.h"
#include "tests/support/seeds.h"
#include "tests/support/storm_model.h"

namespace exawarp::tests {
namespace {

constexpr std::uint64_t kCases = 6;

// A storm that blows otherwise from the middle of its time on, and from three quarters of it on
// once more.
struct ChangingStorm {
  explicit ChangingStorm(std::uint64_t the_seed)
      : seed(the_seed), options(random_storm(seed)), first(make_storm(options)) {
    StormOptions other = options;
    other.seed += 1000;
    second = make_storm(other);
    whole = run_case(matrix_of(*first), {});
    half = core::Time{whole.last_event.ps / 2 + 1};
    model = std::make_unique<const pdes::ChangingModel>(
        *first,
        std::vector<pdes::ChangingModel::Change>{
            {half, second.get()}, {core::Time{half.ps + half.ps / 2}, first.get()}});
  }

  [[nodiscard]] MatrixModel matrix_of(const pdes::Model& m) const {
    return {.model = &m,
            .placer = blocks_of(options.lps, options.atom_shift),
            .end = core::Time::max(),
            .seed = seed};
  }

  std::uint64_t seed;
  StormOptions options;
  std::unique_ptr<pdes::Model> first, second;
  pdes::RunResult whole;  // of the first alone
  core::Time half;
  std::unique_ptr<const pdes::ChangingModel> model;
};

TEST(ChangingModels, HaveOneDigestInEveryMode) {
  for (const std::uint64_t seed : case_seeds(1, kCases)) {
    const ChangingStorm storm(seed);
    const MatrixModel matrix = storm.matrix_of(*storm.model);
    const pdes::RunResult usual = run_case(matrix, {});
    EXPECT_NE(usual.digest, storm.whole.digest);
    for (std::uint64_t i = 0; i < 4; ++i) {
      const RunCase run = random_case(4 * seed + i);
      ASSERT_EQ(to_hex(run_case(matrix, run).digest), to_hex(usual.digest))
          << "seed " << seed << ' ' << run.text();
    }
    const RunCase audited = audited_case(core::Time{0}, 0.1);
    ASSERT_EQ(to_hex(run_case(matrix, audited).digest), to_hex(usual.digest)) << seed;
  }
}

TEST(ChangingModels, AForkIsWhatKnewOfTheChangeFromTheStart) {
  for (const std::uint64_t seed : case_seeds(1, kCases)) {
    const ChangingStorm storm(seed);
    const pdes::RunResult usual = run_case(storm.matrix_of(*storm.model), {});
    std::vector<WholeCut> taken;
    run_case(storm.matrix_of(*storm.first), random_case(seed), nullptr,
             {.every = storm.half, .taken = &taken});
    ASSERT_FALSE(taken.empty());
    ASSERT_EQ(taken.front().totals.at, storm.half);
    const RunCase after = random_case(seed + 500);
    const pdes::RunResult fork = run_case(storm.matrix_of(*storm.model), after, nullptr,
                                          {.from = &taken.front()});
    ASSERT_EQ(to_hex(fork.digest), to_hex(usual.digest)) << "seed " << seed << ' ' << after.text();
    ASSERT_EQ(fork.total.committed_events(), usual.total.committed_events());
  }
}

TEST(ChangingModels, OtherLogicalProcessesAreRefused) {
  const auto a = make_storm({.lps = 64}), b = make_storm({.lps = 128});
  EXPECT_THROW(pdes::ChangingModel(*a, {{core::Time{1'000'000}, b.get()}}), core::InputError);
}

}  // namespace
}  // namespace exawarp::tests
