// A training step with slow and failed links and two kinds of jitter: one digest in every mode.
#include <gtest/gtest.h>

#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using core::Time;
using model::Cluster;
using model::ClusterOptions;
using model::Distribution;
using model::WorkloadGraph;

class FaultyTraining : public testing::Test {
 protected:
  static ClusterOptions options() {
    ClusterOptions o{.compute_jitter = {0.3, Distribution::lognormal}, .seed = 5};
    o.link_faults = {
        {.links = {{.at = {true, 9}, .to = {false, 1}}},
         .factor_ppm = 4'000'000,
         .from = Time{3'000'000},
         .place = "test"},
        {.switches = {4}, .from = Time{20'000'000}, .until = Time{90'000'000}, .place = "test"},
        {.links = {{.at = {true, 2}, .to = {false, 0}}},
         .from = Time{30'000'000},
         .until = Time{60'000'000},
         .place = "test"}};
    o.latency_jitter.mean = Time{300'000};
    return o;
  }
  WorkloadGraph graph_ = small_training_step({.tensor = 4, .data = 3, .pipeline = 3});
  Cluster cluster_{graph_, round_accelerator(), round_fabric(), options()};
};

TEST_F(FaultyTraining, GivesOneDigestInEveryMode) {
  const ClusterRun expected = run_cluster(cluster_);
  EXPECT_EQ(expected.outcome.unfinished(), 0u);
  const Cluster well(graph_, round_accelerator(), round_fabric(), {});
  EXPECT_GT(expected.outcome.simulated_time(), run_cluster(well).outcome.simulated_time());
  for (const RunCase& run : differential_cases(Time{500'000})) {
    const ClusterRun result = run_cluster(cluster_, run);
    EXPECT_EQ(to_hex(result.result.digest), to_hex(expected.result.digest)) << run.text();
  }
}

TEST_F(FaultyTraining, PassesTheRollbackAudit) {
  const ClusterRun expected = run_cluster(cluster_);
  const ClusterRun result = run_cluster(cluster_, audited_case(Time{50'000'000}, 0.5));
  EXPECT_EQ(result.result.digest, expected.result.digest);
  EXPECT_GT(result.result.total.audited_events, 1'000u);
}

}  // namespace
}  // namespace exawarp::tests
