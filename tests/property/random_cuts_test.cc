// Random models, cut at random moments in one mode and gone on with in another: digest, counts and
// what is emitted beyond the cut equal those of a run that nobody cut.
// EXAWARP_PROPERTY_CASES raises the number of cases; a failure prints the seed, which replays it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "core/random.h"
#include "tests/support/run_matrix.h"
#include "tests/support/seeds.h"
#include "tests/support/storm_model.h"

namespace exawarp::tests {
namespace {

class Output final : public pdes::EmissionSink {
 public:
  void deliver(core::PartitionId, const pdes::Emission& emission) override {
    const std::lock_guard lock(mutex_);
    all_.push_back(emission);
  }
  // What was emitted from `from` on, in order.
  [[nodiscard]] std::vector<std::uint64_t> since(core::Time from) {
    std::ranges::sort(all_, {}, &pdes::Emission::key);
    std::vector<std::uint64_t> values;
    for (const pdes::Emission& e : all_)
      if (e.key.time >= from) values.push_back(e.a);
    return values;
  }

 private:
  std::mutex mutex_;
  std::vector<pdes::Emission> all_;
};

std::uint64_t case_count() {
  const char* const wanted = std::getenv("EXAWARP_PROPERTY_CASES");
  return wanted == nullptr ? 30 : std::strtoull(wanted, nullptr, 10);
}

struct Storm {
  explicit Storm(std::uint64_t the_seed)
      : seed(the_seed),
        options(random_storm(seed)),
        model(make_storm(options)),
        matrix{.model = model.get(),
               .placer = blocks_of(options.lps, options.atom_shift),
               .end = core::Time::max(),
               .seed = seed},
        whole(run_case(matrix, {}, &output)) {}

  std::uint64_t seed;
  StormOptions options;
  std::unique_ptr<pdes::Model> model;
  MatrixModel matrix;
  Output output;
  pdes::RunResult whole;  // not cut
};

std::uint64_t draw(const Storm& storm, std::uint64_t which, std::uint64_t n) {
  return core::random_bits(core::stream_of(storm.seed, 0xc07), which) % n;
}

void expect_same(const Storm& storm, const pdes::RunResult& result, const RunCase& run) {
  ASSERT_EQ(to_hex(result.digest), to_hex(storm.whole.digest))
      << "seed " << storm.seed << ' ' << run.text();
  ASSERT_EQ(result.total.committed_events(), storm.whole.total.committed_events()) << storm.seed;
  ASSERT_EQ(result.last_event, storm.whole.last_event) << storm.seed;
}

// One beyond the last event is taken where a guess lay there that was undone, or not at all.
void drop_those_after(core::Time last_event, std::vector<WholeCut>& cuts) {
  while (!cuts.empty() && cuts.back().totals.at > last_event) cuts.pop_back();
}

TEST(RandomCuts, ARunGoesOnFromATimeInAnotherMode) {
  std::uint64_t cuts = 0;
  for (const std::uint64_t seed : case_seeds(1, case_count())) {
    Storm storm(seed);
    const auto every = core::Time{1 + storm.whole.last_event.ps / 5};
    std::vector<WholeCut> taken;
    const RunCase before = random_case(3 * seed);
    ASSERT_NO_FATAL_FAILURE(expect_same(
        storm, run_case(storm.matrix, before, nullptr, {.every = every, .taken = &taken}), before));
    ASSERT_FALSE(taken.empty());
    const WholeCut& cut = taken[draw(storm, 1, taken.size())];
    ASSERT_EQ(cut.totals.at.ps % every.ps, 0);
    const RunCase after = random_case(3 * seed + 1);
    Output output;
    std::vector<WholeCut> later;
    ASSERT_NO_FATAL_FAILURE(expect_same(
        storm,
        run_case(storm.matrix, after, &output, {.every = every, .taken = &later, .from = &cut}),
        after));
    ASSERT_EQ(output.since(core::Time{0}), storm.output.since(cut.totals.at)) << seed;
    // Times are the same as without the first cut, and so is what the cuts count.
    drop_those_after(storm.whole.last_event, taken);
    drop_those_after(storm.whole.last_event, later);
    const std::size_t done = taken.size() - later.size();
    for (std::size_t i = 0; i < later.size(); ++i) {
      ASSERT_EQ(later[i].totals.at, taken[done + i].totals.at) << seed;
      ASSERT_EQ(later[i].totals.digest, taken[done + i].totals.digest) << seed;
    }
    cuts += taken.size();
  }
  EXPECT_GT(cuts, case_count());
}

TEST(RandomCuts, BetweenAnyTwoEpochs) {
  for (const std::uint64_t seed : case_seeds(1, case_count())) {
    Storm storm(seed);
    std::vector<WholeCut> taken;
    const RunCase before = random_case(3 * seed + 2);
    ASSERT_NO_FATAL_FAILURE(expect_same(
        storm, run_case(storm.matrix, before, nullptr, {.every_s = 1e-12, .taken = &taken}),
        before));
    if (taken.empty()) continue;  // one epoch did it all
    const WholeCut& cut = taken[draw(storm, 2, taken.size())];
    const RunCase after = random_case(3 * seed);
    ASSERT_NO_FATAL_FAILURE(
        expect_same(storm, run_case(storm.matrix, after, nullptr, {.from = &cut}), after));
  }
}

// More events at one time than a partition's history holds: none of them is final before all are.
TEST(RandomCuts, BetweenAnyTwoEpochsThatDoNotGetFurther) {
  const auto model = make_storm({.lps = 512, .tie_ps = 5'000});
  const MatrixModel matrix{.model = model.get(), .placer = blocks_of(512, 2)};
  const RunCase narrow{.sync = pdes::Sync::optimistic, .memory_budget_bytes = 1};
  std::vector<WholeCut> taken;
  const pdes::RunResult cut =
      run_case(matrix, narrow, nullptr, {.every_s = 1e-12, .taken = &taken});
  EXPECT_FALSE(taken.empty());
  EXPECT_EQ(to_hex(cut.digest), to_hex(run_case(matrix, {}).digest));
}

TEST(RandomCuts, OfCutsThatGoOnFromCuts) {
  Storm storm(7);
  std::vector<WholeCut> taken;
  const core::Time every{1 + storm.whole.last_event.ps / 9};
  const WholeCut* from = nullptr;
  pdes::RunResult result;
  for (std::uint64_t n = 0; n < 5; ++n) {
    std::vector<WholeCut> now;
    result = run_case(storm.matrix, random_case(100 + n), nullptr,
                      {.every = every, .taken = &now, .from = from});
    ASSERT_NO_FATAL_FAILURE(expect_same(storm, result, random_case(100 + n)));
    if (now.empty()) break;
    taken = {now.front()};
    from = taken.data();
  }
}

TEST(RandomCuts, AStateThatIsNotDescribedInFullDoesNotComeBack) {
  const auto model = make_storm({.leaves_out_a_field = true});
  const MatrixModel matrix{.model = model.get(), .placer = blocks_of(64, 2)};
  std::vector<WholeCut> taken;
  const pdes::RunResult whole = run_case(matrix, {}, nullptr);
  run_case(matrix, {}, nullptr, {.every = core::Time{whole.last_event.ps / 2}, .taken = &taken});
  ASSERT_FALSE(taken.empty());
  const pdes::RunResult result = run_case(matrix, {}, nullptr, {.from = taken.data()});
  EXPECT_NE(to_hex(result.digest), to_hex(whole.digest));
}

}  // namespace
}  // namespace exawarp::tests
