// Accelerator::overlap_slowdown: computation beside collectives, to the picosecond and in every
// mode.
#include <gtest/gtest.h>

#include "core/error.h"
#include "model/workload/validate.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::Time;

constexpr std::uint64_t kNodePs = 1'000'000'000;

// Four devices compute three times 1 ms; a collective of a few microseconds starts with the second.
WorkloadGraph one_collective() {
  WorkloadBuilder workload("overlap");
  const auto axis = workload.add_axis("data", 4);
  const auto group = workload.add_group("data", {axis});
  ProgramBuilder& program = workload.add_program("p");
  const auto compute = program.add_stream("compute", schema::StreamKind::COMPUTE);
  const auto data = program.add_stream("data", schema::StreamKind::COMMUNICATION);
  const auto first = program.add_node({.stream = compute, .duration_ps = kNodePs});
  program.add_node({.stream = compute, .duration_ps = kNodePs});
  program.add_node({.stream = compute, .duration_ps = kNodePs});
  program.add_node({.kind = schema::NodeKind::COLLECTIVE,
                    .stream = data,
                    .group = group,
                    .comm_bytes = 1'000},
                   {first});
  workload.bind_range(0, {.axis = axis, .first = 0, .count = 4});
  WorkloadGraph graph = workload.build();
  validate(graph);
  return graph;
}

Accelerator slowed_by(double factor) {
  Accelerator accelerator = tests::round_accelerator();
  accelerator.overlap_slowdown = factor;
  return accelerator;
}

Time overlapped_time(const WorkloadGraph& graph, double factor, bool analytical) {
  const Cluster cluster(graph, slowed_by(factor), tests::round_fabric(),
                        {.analytical_network = analytical});
  return tests::run_cluster(cluster).outcome.simulated_time();
}

TEST(Overlap, SlowsWhatStartsBesideACollective) {
  const WorkloadGraph graph = one_collective();
  for (const bool analytical : {false, true}) {
    EXPECT_EQ(overlapped_time(graph, 1, analytical), Time{3'000'000'000});
    EXPECT_EQ(overlapped_time(graph, 1.25, analytical), Time{3'250'000'000});
  }
}

TEST(Overlap, IsTheSameInEveryModeUnderAudit) {
  const WorkloadGraph graph = tests::small_llama({.tensor = 2, .pipeline = 2, .data = 2});
  Accelerator accelerator = slowed_by(1.5);
  accelerator.matrix_flops_per_s.fill(1e14);
  const Cluster cluster(graph, accelerator, tests::round_fabric(), {.compute_jitter = 0.05});
  const tests::ClusterRun expected = tests::run_cluster(cluster);
  for (const std::uint32_t ranks : {1u, 2u}) {
    const tests::ClusterRun run =
        tests::run_cluster(cluster, {.sync = pdes::Sync::optimistic,
                                     .ranks = ranks,
                                     .threads = 2,
                                     .partitions_per_rank = 2,
                                     .chaos_seed = 3,
                                     .audit_probability = 0.1});
    EXPECT_EQ(run.result.digest, expected.result.digest);
    EXPECT_EQ(run.outcome.simulated_time(), expected.outcome.simulated_time());
  }
}

TEST(Overlap, OfLessThanOneIsRefused) {
  const WorkloadGraph graph = one_collective();
  EXPECT_THROW(overlapped_time(graph, 0.5, false), core::InputError);
}

}  // namespace
}  // namespace exawarp::tests
