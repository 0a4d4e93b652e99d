// Flow fidelity in every mode: one digest, and the same completion times.
#include <gtest/gtest.h>

#include "tests/support/cluster_fixture.h"
#include "tests/support/traffic_fixture.h"

namespace exawarp::tests {
namespace {

using core::Time;
using model::TrafficFidelity;
using model::TrafficOptions;
using model::TrafficPattern;

// Leaves of 4 below 2 spines: messages collide on ways up and down.
class FlowDifferential : public testing::TestWithParam<TrafficOptions> {
 protected:
  std::unique_ptr<model::Topology> topology_ = tests::leaf_spine(16, 4, 2);
  model::TrafficModel traffic_{*topology_, tests::plain_packets(), GetParam(), 1,
                               TrafficFidelity::flow};
};

TEST_P(FlowDifferential, EveryModeGivesTheSequentialDigest) {
  const tests::TrafficRun expected = tests::run_traffic(traffic_, {}, 1);
  EXPECT_EQ(expected.totals.received, traffic_.messages());
  EXPECT_EQ(expected.totals.unfinished, 0u);
  EXPECT_GT(expected.totals.flows.largest_part, 1u);
  std::uint64_t rolled_back = 0;
  for (const tests::RunCase& run : tests::differential_cases(Time{50'000})) {
    const tests::TrafficRun result = tests::run_traffic(traffic_, run, 1);
    EXPECT_EQ(result.digest, expected.digest) << run.text();
    EXPECT_EQ(result.flows, expected.flows) << run.text();
    EXPECT_EQ(result.totals.flows.looked_at, expected.totals.flows.looked_at) << run.text();
    rolled_back += result.statistics.rolled_back_events;
  }
  EXPECT_GT(rolled_back, 0u);
}

TEST_P(FlowDifferential, PassesTheRollbackAudit) {
  const tests::TrafficRun expected = tests::run_traffic(traffic_, {}, 1);
  const tests::TrafficRun result =
      tests::run_traffic(traffic_, tests::audited_case(Time{1'000'000}, 0.5), 1);
  EXPECT_EQ(result.digest, expected.digest);
  EXPECT_GT(result.statistics.audited_events, 50u);
}

TEST_P(FlowDifferential, IsMadeAnewFromItsDescription) {
  const tests::TrafficRun expected = tests::run_traffic(traffic_, {}, 1);
  const tests::RunCase run{.sync = pdes::Sync::optimistic,
                           .threads = 2,
                           .partitions_per_rank = 3,
                           .window = Time{500'000},
                           .rebuild_events = 40};
  EXPECT_EQ(tests::run_traffic(traffic_, run, 1).digest, expected.digest);
  EXPECT_EQ(tests::run_traffic(traffic_, {.rebuild_events = 40}, 1).digest, expected.digest);
}

INSTANTIATE_TEST_SUITE_P(
    Patterns, FlowDifferential,
    testing::Values(
        TrafficOptions{.pattern = TrafficPattern::all_to_all, .message_bytes = 3'000},
        TrafficOptions{
            .pattern = TrafficPattern::shift, .message_bytes = 5'000, .messages = 4, .shift = 5},
        TrafficOptions{
            .pattern = TrafficPattern::uniform, .message_bytes = 2'000, .messages = 6, .load = 0.7},
        TrafficOptions{.pattern = TrafficPattern::all_to_all,
                       .message_bytes = 3'000,
                       .concurrent = 4,
                       .one_by_one = true}),
    [](const auto& pattern) {
      return std::string(core::name_of(pattern.param.pattern)) +
             (pattern.param.one_by_one ? "_one_by_one" : "");
    });

class FlowTraining : public testing::Test {
 protected:
  static model::ClusterOptions flows() {
    model::ClusterOptions options;
    options.flows.emplace().routing.policy = "ecmp";
    return options;
  }
  model::WorkloadGraph graph_ =
      tests::small_training_step({.tensor = 4, .data = 4, .pipeline = 2, .micro_batches = 4});
  model::Cluster cluster_{graph_, tests::round_accelerator(), tests::round_fabric(), flows()};
};

TEST_F(FlowTraining, GivesOneDigestAndOneOutcome) {
  const tests::ClusterRun expected = tests::run_cluster(cluster_);
  EXPECT_EQ(expected.outcome.unfinished(), 0u);
  EXPECT_GT(expected.outcome.flows().ended, 100u);
  std::uint64_t rolled_back = 0;
  for (const tests::RunCase& run : tests::differential_cases(Time{200'000})) {
    const tests::ClusterRun result = tests::run_cluster(cluster_, run);
    EXPECT_EQ(to_hex(result.result.digest), to_hex(expected.result.digest)) << run.text();
    EXPECT_EQ(result.outcome.sums_to_words(), expected.outcome.sums_to_words()) << run.text();
    EXPECT_EQ(result.outcome.flows().looked_at, expected.outcome.flows().looked_at);
    rolled_back += result.result.total.rolled_back_events;
  }
  EXPECT_GT(rolled_back, 0u);
}

TEST_F(FlowTraining, PassesTheRollbackAudit) {
  const tests::ClusterRun expected = tests::run_cluster(cluster_);
  const tests::ClusterRun result =
      tests::run_cluster(cluster_, tests::audited_case(Time{5'000'000}, 0.3));
  EXPECT_EQ(result.result.digest, expected.result.digest);
  EXPECT_GT(result.result.total.audited_events, 500u);
}

}  // namespace
}  // namespace exawarp::tests
