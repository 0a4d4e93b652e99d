// Random models in random modes: digest, counts and committed output equal the sequential run's.
// EXAWARP_PROPERTY_CASES raises the number of cases (scripts/nightly does); a failure prints the
// seed, which replays it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "tests/support/run_matrix.h"
#include "tests/support/seeds.h"
#include "tests/support/storm_model.h"

namespace exawarp::tests {
namespace {

class Collector final : public pdes::EmissionSink {
 public:
  void deliver(core::PartitionId partition, const pdes::Emission& emission) override {
    const std::lock_guard lock(mutex_);
    if (partition.value >= last_.size()) last_.resize(partition.value + 1);
    in_order_ = in_order_ && last_[partition.value] <= emission.key.time;
    last_[partition.value] = emission.key.time;
    all_.push_back(emission);
  }
  [[nodiscard]] bool in_order() const { return in_order_; }
  [[nodiscard]] std::vector<std::uint64_t> sorted_values() {
    std::sort(all_.begin(), all_.end(),
              [](const auto& a, const auto& b) { return a.key < b.key; });
    std::vector<std::uint64_t> values;
    for (const pdes::Emission& e : all_) values.push_back(e.a);
    return values;
  }

 private:
  std::mutex mutex_;
  std::vector<core::Time> last_;
  std::vector<pdes::Emission> all_;
  bool in_order_ = true;
};

TEST(RandomModels, AgreeWithTheSequentialRun) {
  const char* wanted = std::getenv("EXAWARP_PROPERTY_CASES");
  const std::uint64_t cases = wanted == nullptr ? 50 : std::strtoull(wanted, nullptr, 10);
  std::uint64_t rolled_back = 0;
  for (const std::uint64_t seed : case_seeds(1, cases)) {
    const tests::StormOptions storm = tests::random_storm(seed);
    const auto model = tests::make_storm(storm);
    const tests::MatrixModel matrix{.model = model.get(),
                                   .placer = tests::blocks_of(storm.lps, storm.atom_shift),
                                   .end = core::Time::max(),
                                   .seed = seed};
    Collector expected_output;
    const pdes::RunResult expected = tests::run_case(matrix, {}, &expected_output);
    const tests::RunCase run = tests::random_case(seed);
    Collector output;
    const pdes::RunResult result = tests::run_case(matrix, run, &output);
    ASSERT_EQ(to_hex(result.digest), to_hex(expected.digest)) << "seed " << seed << ' '
                                                              << run.text();
    ASSERT_EQ(result.total.committed_events(), expected.total.committed_events()) << seed;
    ASSERT_TRUE(output.in_order()) << seed;
    ASSERT_EQ(output.sorted_values(), expected_output.sorted_values()) << seed;
    rolled_back += result.total.rolled_back_events;
  }
  EXPECT_GT(rolled_back, 0u);
}

TEST(RandomModels, AWriteThatByPassesTheContextFailsTheAudit) {
  const auto model = tests::make_storm({.writes_directly = true});
  const tests::MatrixModel matrix{.model = model.get(), .placer = tests::blocks_of(64, 2)};
  EXPECT_EXIT(tests::run_case(matrix, {.sync = pdes::Sync::optimistic, .audit_probability = 1}),
              testing::ExitedWithCode(1), "a write by-passed the context");
}

}  // namespace
}  // namespace exawarp::tests
