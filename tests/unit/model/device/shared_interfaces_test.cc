// What a device sends at one time shares its interfaces at analytical fidelity: figures by hand,
// one digest in every mode, and the same figures where devices are folded.
#include "model/device/shared_interfaces.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/workload/validate.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::Time;

constexpr std::uint64_t kMegabyte = 1'000'000;
// Of 4 members of a node, by a ring: 600 of 400 MB at 100 GB/s, and 6 steps of 1 us.
constexpr std::uint64_t kReducedBytes = 400 * kMegabyte;
constexpr double kAlone = 6.006e-3;

// Devices 0 to 3 each begin an all-reduce of so many bytes at a time, in groups of their own.
WorkloadGraph all_reduces(const std::vector<std::uint64_t>& bytes) {
  WorkloadBuilder workload("shared");
  const auto axis = workload.add_axis("data", 4);
  ProgramBuilder& program = workload.add_program("p");
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto group = workload.add_group("data " + std::to_string(i), {axis});
    const auto stream =
        program.add_stream("network " + std::to_string(i), schema::StreamKind::COMMUNICATION);
    program.add_node({.kind = schema::NodeKind::COLLECTIVE,
                      .stream = stream,
                      .group = group,
                      .comm_bytes = bytes[i]});
  }
  workload.bind_range(0, {.axis = axis, .first = 0, .count = 4});
  WorkloadGraph graph = workload.build();
  validate(graph);
  return graph;
}

// Device 0 sends a message to device 1, 1 ms after the beginning of an all-reduce of 10 ms.
WorkloadGraph message_beside_all_reduce(bool together) {
  WorkloadBuilder workload("shared");
  const auto axis = workload.add_axis("data", 2);
  const auto group = workload.add_group("data", {axis});
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    ProgramBuilder& program = workload.add_program(rank == 0 ? "sends" : "receives");
    const auto network = program.add_stream("network", schema::StreamKind::COMMUNICATION);
    const auto compute = program.add_stream("compute", schema::StreamKind::COMPUTE);
    const auto messages = program.add_stream("messages", schema::StreamKind::COMMUNICATION);
    const auto pause = program.add_node({.stream = compute, .duration_ps = 1'000'000'000});
    if (together) {
      program.add_node({.kind = schema::NodeKind::COLLECTIVE,
                        .stream = network,
                        .group = group,
                        .comm_bytes = 1000 * kMegabyte});
    }
    program.add_node({.kind = rank == 0 ? schema::NodeKind::SEND : schema::NodeKind::RECEIVE,
                      .stream = messages,
                      .peer_axis = axis,
                      .peer = rank == 0 ? 1 : -1,
                      .tag = 1,
                      .comm_bytes = 100 * kMegabyte},
                     {pause});
    workload.bind_range(rank, {.axis = axis, .first = rank, .count = 1});
  }
  WorkloadGraph graph = workload.build();
  validate(graph);
  return graph;
}

ClusterOptions with_sharing(bool shares) {
  return {.analytical_network = true, .shares_interfaces = shares};
}

Time shared_time(const WorkloadGraph& graph, bool shares) {
  const Cluster cluster(graph, tests::round_accelerator(), tests::round_fabric(),
                        with_sharing(shares));
  const ClusterRun run = tests::run_cluster(cluster);
  EXPECT_EQ(run.outcome.unfinished(), 0u);
  return run.outcome.simulated_time();
}

double seconds(const WorkloadGraph& graph, bool shares) {
  return core::to_seconds(shared_time(graph, shares));
}

TEST(SharedInterfaces, OneCollectiveTakesItsClosedForm) {
  const WorkloadGraph graph = all_reduces({kReducedBytes});
  EXPECT_DOUBLE_EQ(seconds(graph, false), kAlone);
  EXPECT_DOUBLE_EQ(seconds(graph, true), kAlone);
}

TEST(SharedInterfaces, SeveralAtATimeTakeAsLongAsOneAfterTheOther) {
  for (const std::size_t count : {2u, 3u, 5u}) {
    const WorkloadGraph graph = all_reduces(std::vector<std::uint64_t>(count, kReducedBytes));
    EXPECT_DOUBLE_EQ(seconds(graph, false), kAlone) << count;
    EXPECT_NEAR(seconds(graph, true), static_cast<double>(count) * kAlone, 0.002 * kAlone * 5)
        << count;
  }
}

TEST(SharedInterfaces, TheLongOneLosesWhatTheShortOneTook) {
  const auto together = [](const std::vector<std::uint64_t>& bytes) {
    return seconds(all_reduces(bytes), true);
  };
  EXPECT_NEAR(together({kReducedBytes, kReducedBytes / 4}), 1.25 * kAlone, 0.005 * kAlone);
  EXPECT_NEAR(together({kReducedBytes / 4, kReducedBytes, kReducedBytes / 8}), 1.375 * kAlone,
              0.005 * kAlone);
}

TEST(SharedInterfaces, WhatIsLatencyAloneSlowsNothing) {
  EXPECT_NEAR(seconds(all_reduces({kReducedBytes, 4}), true), kAlone, 1e-4 * kAlone);
}

// When the receiver's message is there: alone after 1 ms of computation and 1 ms on the interface.
TEST(SharedInterfaces, AMessageBesideACollectiveTakesTwiceAsLong) {
  const WorkloadGraph alone = message_beside_all_reduce(false);
  EXPECT_EQ(shared_time(alone, true), shared_time(alone, false));
  EXPECT_EQ(shared_time(alone, true), Time{2'001'000'000});
  // The all-reduce of 10 ms loses the 1 ms that the message needs.
  const WorkloadGraph together = message_beside_all_reduce(true);
  EXPECT_NEAR(seconds(together, false), 10.002e-3, 1e-6);
  EXPECT_NEAR(seconds(together, true), 11.002e-3, 1e-5);
}

TEST(SharedInterfaces, AreTheSameInEveryModeUnderAudit) {
  const WorkloadGraph graph = tests::small_llama({.tensor = 2, .pipeline = 2, .data = 4}, 2);
  ClusterOptions options = with_sharing(true);
  options.compute_jitter = 0.05;
  const Cluster cluster(graph, tests::round_accelerator(), tests::round_fabric(), options);
  const ClusterRun expected = tests::run_cluster(cluster);
  for (const std::uint32_t ranks : {1u, 2u}) {
    const ClusterRun run = tests::run_cluster(cluster, {.sync = pdes::Sync::optimistic,
                                                        .ranks = ranks,
                                                        .threads = 2,
                                                        .partitions_per_rank = 2,
                                                        .chaos_seed = 7,
                                                        .audit_probability = 0.1});
    EXPECT_EQ(run.result.digest, expected.result.digest);
    EXPECT_EQ(run.outcome.simulated_time(), expected.outcome.simulated_time());
  }
  options.shares_interfaces = false;
  const Cluster apart(graph, tests::round_accelerator(), tests::round_fabric(), options);
  EXPECT_LT(tests::run_cluster(apart).outcome.simulated_time(),
            expected.outcome.simulated_time());
}

TEST(SharedInterfaces, FoldedDevicesShareThemAsAllDo) {
  for (const ParallelSpec& parallel :
       {ParallelSpec{.tensor = 2, .pipeline = 2, .data = 4},
        ParallelSpec{.tensor = 1, .pipeline = 4, .data = 8},
        ParallelSpec{.tensor = 1, .pipeline = 1, .data = 16, .sharding = Sharding::kZero3}}) {
    const WorkloadGraph graph = tests::small_llama(parallel);
    std::vector<Time> steps;
    for (const Folding folding : {Folding::off, Folding::automatic}) {
      ClusterOptions options = with_sharing(true);
      options.folding = folding;
      const Cluster cluster({Job{.name = "job", .graph = &graph}}, tests::round_accelerator(),
                            tests::round_fabric(), options);
      steps.push_back(tests::run_cluster(cluster).outcome.iteration_time());
      EXPECT_EQ(cluster.device_lps() < graph.device_count(), folding == Folding::automatic);
    }
    EXPECT_EQ(steps[0], steps[1]);
  }
}

}  // namespace
}  // namespace exawarp::tests
