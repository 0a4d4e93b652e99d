// Jobs that share a cluster: their times, their rank spaces.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "model/workload/validate.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using core::Time;
using model::ClusterOptions;
using model::Job;
using model::JobTotals;
using model::PlacementKind;
using model::PlacementSpec;
using model::TimeClass;
using model::WorkloadGraph;

constexpr PlacementSpec kRandom{.kind = PlacementKind::random, .seed = 3};

tests::ClusterRun run(const std::vector<Job>& jobs, const ClusterOptions& options = {},
                      const tests::RunCase& how = {}) {
  const model::Cluster cluster(jobs, tests::round_accelerator(), tests::round_fabric(), options);
  tests::ClusterRun done = tests::run_cluster(cluster, how);
  EXPECT_EQ(done.outcome.unfinished(), 0u);
  return done;
}

// What an outcome says of jobs must be asked while its cluster is there.
std::vector<JobTotals> jobs_of(const std::vector<Job>& jobs, const ClusterOptions& options = {}) {
  const model::Cluster cluster(jobs, tests::round_accelerator(), tests::round_fabric(), options);
  return tests::run_cluster(cluster).outcome.jobs();
}

TEST(Jobs, OneJobIsTheSameSimulationAsAWorkload) {
  const WorkloadGraph graph = tests::small_training_step({});
  const model::Cluster cluster(graph, tests::round_accelerator(), tests::round_fabric(), {});
  const auto expected = tests::run_cluster(cluster).result.digest;
  EXPECT_EQ(run({{.name = "a", .graph = &graph}}).result.digest, expected);
}

TEST(Jobs, OnLeavesOfTheirOwnTheyDoNotSlowEachOther) {
  const WorkloadGraph small = tests::small_training_step({.tensor = 4, .data = 1, .pipeline = 2});
  const WorkloadGraph large = tests::small_training_step({.tensor = 4, .data = 2, .pipeline = 2});
  const std::vector<Job> both{{.name = "a", .graph = &large}, {.name = "b", .graph = &small}};
  const auto beside = jobs_of(both);
  for (std::uint32_t j = 0; j < 2; ++j) {
    const auto alone = jobs_of(both, {.only_job = j});
    ASSERT_EQ(alone.size(), 1u);
    EXPECT_EQ(alone[0].name, both[j].name);
    EXPECT_EQ(alone[0].duration, beside[j].duration);
    EXPECT_EQ(alone[0].totals.time_ps, beside[j].totals.time_ps);
  }
  EXPECT_EQ(beside[1].duration, jobs_of({both[1]})[0].duration);
}

TEST(Jobs, AJobThatBeginsLaterEndsLaterByAsMuch) {
  const WorkloadGraph graph = tests::small_training_step({.tensor = 4, .data = 1, .pipeline = 2});
  const Time start{5'000'000};
  const std::vector<Job> jobs{{.name = "a", .graph = &graph},
                              {.name = "b", .graph = &graph, .start = start}};
  const model::Cluster cluster(jobs, tests::round_accelerator(), tests::round_fabric(), {});
  const auto outcome = tests::run_cluster(cluster).outcome;
  const auto all = outcome.jobs();
  EXPECT_EQ(all[1].duration, all[0].duration);
  EXPECT_EQ(all[1].totals.last_finish, all[0].totals.last_finish + start);
  EXPECT_EQ(all[1].totals.time_ps, all[0].totals.time_ps);
  double whole = 0;
  for (std::size_t c = 0; c < model::kTimeClassCount; ++c) {
    whole += outcome.fraction(outcome.total(), static_cast<TimeClass>(c));
  }
  EXPECT_NEAR(whole, 1, 1e-12);
}

TEST(Jobs, SharesOfAJobsTimeAddUpToOne) {
  const WorkloadGraph graph = tests::small_training_step({.tensor = 2, .data = 3, .pipeline = 2});
  for (const JobTotals& job : jobs_of({{.name = "a", .graph = &graph, .placement = kRandom},
                                       {.name = "b", .graph = &graph, .start = Time{77}}},
                                      {.devices = 40})) {
    double whole = 0;
    for (std::size_t c = 0; c < model::kTimeClassCount; ++c) {
      whole += model::Outcome::fraction(job, static_cast<TimeClass>(c));
    }
    EXPECT_NEAR(whole, 1, 1e-12) << job.name;
  }
}

// A ring of n on n nodes: every message crosses, whatever the order, below one leaf.
TEST(Jobs, ACollectiveOfScatteredRanksCrossesNodes) {
  const WorkloadGraph graph =
      tests::collectives(model::schema::CollectiveType::ALL_GATHER, 2, 1'000'000);
  const Time in_node = jobs_of({{.name = "a", .graph = &graph}})[0].duration;
  EXPECT_EQ(in_node, tests::kNodeLatency + Time{1'000'000 * tests::kNodePsPerByte});
  const PlacementSpec apart{.kind = PlacementKind::list, .devices = {6, 1}};
  const Time across = jobs_of({{.name = "a", .graph = &graph, .placement = apart}})[0].duration;
  EXPECT_EQ(across, tests::kLeafLatency + Time{1'000'000 * tests::kScaleOutPsPerByte});
  const PlacementSpec far{.kind = PlacementKind::list, .devices = {30, 1}};
  EXPECT_EQ(jobs_of({{.name = "a", .graph = &graph, .placement = far}})[0].duration,
            tests::kCoreLatency + Time{1'000'000 * tests::kScaleOutPsPerByte});
}

// Hierarchical collectives split at nodes where placement keeps nodes whole, wherever these are;
// where ranks are dealt out over nodes they run as one stage.
TEST(Jobs, HierarchicalCollectivesSeeDevicesNotRanks) {
  const WorkloadGraph graph =
      tests::collectives(model::schema::CollectiveType::ALL_REDUCE, 8, 8'000'000);
  model::CollectiveRule by_nodes;
  by_nodes.choice.hierarchical = true;
  const ClusterOptions hierarchical{.collectives = {by_nodes}};
  const auto duration = [&](const PlacementSpec& how, const ClusterOptions& options) {
    return jobs_of({{.name = "a", .graph = &graph, .placement = how}}, options)[0].duration;
  };
  const PlacementSpec whole{.kind = PlacementKind::list, .devices = {4, 5, 6, 7, 0, 1, 2, 3}};
  const PlacementSpec dealt{.kind = PlacementKind::nodes, .round_robin = true};
  EXPECT_EQ(duration(whole, hierarchical), duration({}, hierarchical));
  EXPECT_LT(duration({}, hierarchical), duration({}, {}));
  EXPECT_EQ(duration(dealt, hierarchical), duration(dealt, {}));
}

TEST(Jobs, TheTextOfADeadlockNamesJobAndRank) {
  model::WorkloadBuilder workload("stuck");
  const std::uint8_t axis = workload.add_axis("device", 2);
  model::ProgramBuilder& program = workload.add_program("program");
  const std::uint8_t stream = program.add_stream("s", model::schema::StreamKind::COMMUNICATION);
  program.add_node({.kind = model::schema::NodeKind::RECEIVE,
                    .stream = stream,
                    .peer_axis = model::schema::NO_AXIS,
                    .peer = 1,
                    .tag = 5,
                    .comm_bytes = 8});
  program.add_node({.kind = model::schema::NodeKind::MARKER, .stream = stream});
  model::ProgramBuilder& idle = workload.add_program("idle");
  idle.add_stream("s", model::schema::StreamKind::COMMUNICATION);
  workload.bind_range(0, {.axis = axis, .first = 0, .count = 1});
  workload.bind_range(1, {.axis = axis, .first = 1, .count = 1});
  WorkloadGraph graph = workload.build();
  model::validate(graph);
  const WorkloadGraph other =
      tests::collectives(model::schema::CollectiveType::ALL_GATHER, 2, 1'000);
  const std::vector<Job> jobs{{.name = "fine", .graph = &other},
                              {.name = "stuck",
                               .graph = &graph,
                               .placement = {.kind = PlacementKind::list, .devices = {9, 5}}}};
  const model::Cluster cluster(jobs, tests::round_accelerator(), tests::round_fabric(), {});
  const auto outcome = tests::run_cluster(cluster).outcome;
  ASSERT_EQ(outcome.waiting().size(), 1u);
  EXPECT_EQ(outcome.waiting()[0].text,
            "device 9 (job \"stuck\" rank 0, program): stream \"s\" waits at node 0 for a message "
            "from device 5, tag 5");
}

}  // namespace
}  // namespace exawarp::tests
