// Jobs that share a cluster, with background, jitter and a slow device: one digest in every mode.
#include <gtest/gtest.h>

#include <vector>

#include "core/error.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using core::Time;
using model::Cluster;
using model::ClusterOptions;
using model::Job;
using model::NodeOrder;
using model::PlacementKind;
using model::WorkloadGraph;

class JobsDifferential : public testing::Test {
 protected:
  const WorkloadGraph training_ = small_training_step({.tensor = 2, .data = 2, .pipeline = 2});
  const WorkloadGraph wide_ = small_training_step({.tensor = 4, .data = 1, .pipeline = 2});
  const WorkloadGraph gather_ =
      collectives(model::schema::CollectiveType::ALL_TO_ALL, 7, 50'000, 3);
  const std::vector<Job> jobs_{
      {.name = "random",
       .graph = &training_,
       .placement = {.kind = PlacementKind::random, .seed = 3}},
      {.name = "linear", .graph = &wide_, .placement = {.first = 5}},
      {.name = "dealt",
       .graph = &training_,
       .placement = {.kind = PlacementKind::nodes,
                     .order = NodeOrder::random,
                     .round_robin = true,
                     .seed = 2},
       .start = Time{3'000'000}},
      {.name = "scattered", .graph = &gather_, .placement = {.kind = PlacementKind::random}}};
  // With messages that ask first, jitter, a slow device and two kinds of background.
  const ClusterOptions options_{
      .eager_max_bytes = 10'000,
      .compute_jitter = 0.1,
      .slow_devices = {{.devices = {6}, .factor_ppm = 2'000'000}},
      .devices = 48,
      .backgrounds = {
          {.sizes = {.kind = model::SizeKind::pareto, .min_bytes = 20'000, .max_bytes = 200'000},
           .load_ppm = 100'000},
          {.pattern = model::BackgroundPattern::hotspot,
           .targets = {5, 7},
           .load_ppm = 50'000,
           .from = Time{1'000'000},
           .seed = 9}}};
  const Cluster cluster_{jobs_, round_accelerator(), round_fabric(), options_};
};

TEST_F(JobsDifferential, EveryModeGivesTheSequentialDigest) {
  const ClusterRun expected = run_cluster(cluster_);
  ASSERT_EQ(expected.outcome.unfinished(), 0u);
  EXPECT_GT(expected.outcome.background().sent_messages, 200u);
  std::uint64_t rolled_back = 0;
  for (const RunCase& how : differential_cases(Time{500'000})) {
    const ClusterRun result = run_cluster(cluster_, how);
    EXPECT_EQ(result.result.digest, expected.result.digest) << how.text();
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      EXPECT_EQ(result.outcome.jobs()[j].duration, expected.outcome.jobs()[j].duration)
          << how.text();
    }
    EXPECT_EQ(result.outcome.background().received_bytes,
              expected.outcome.background().received_bytes);
    rolled_back += result.result.total.rolled_back_events;
  }
  EXPECT_GT(rolled_back, 0u);
}

TEST_F(JobsDifferential, PassesTheRollbackAudit) {
  const auto expected = run_cluster(cluster_).result.digest;
  const auto audited = run_cluster(cluster_, {.sync = pdes::Sync::optimistic,
                                              .ranks = 2,
                                              .threads = 2,
                                              .partitions_per_rank = 2,
                                              .audit_probability = 0.3});
  EXPECT_EQ(audited.result.digest, expected);
  EXPECT_GT(audited.result.total.audited_events, 500u);
}

TEST_F(JobsDifferential, AnalyticalFidelityHasJobsToo) {
  const ClusterOptions closed{.analytical_network = true, .devices = 48};
  const Cluster cluster(jobs_, round_accelerator(), round_fabric(), closed);
  const ClusterRun expected = run_cluster(cluster);
  const ClusterRun result = run_cluster(
      cluster, {.sync = pdes::Sync::optimistic, .threads = 2, .partitions_per_rank = 3});
  EXPECT_EQ(expected.outcome.unfinished(), 0u);
  EXPECT_EQ(result.outcome.unfinished(), 0u);
  EXPECT_EQ(result.result.digest, expected.result.digest);
  ClusterOptions contended = closed;
  contended.backgrounds = options_.backgrounds;
  EXPECT_THROW(Cluster(jobs_, round_accelerator(), round_fabric(), contended), core::InputError);
}

}  // namespace
}  // namespace exawarp::tests
