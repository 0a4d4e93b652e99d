// Streams of a host: what launches kernels takes its time, which is none of the device's.
#include <gtest/gtest.h>

#include "model/compute_times.h"
#include "model/workload/validate.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::Time;

constexpr std::uint64_t kUsPs = 1'000'000;

struct Hosted {
  int launches = 3;
  std::uint64_t launch_us = 6, kernel_us = 2;
};

// Four devices; their first kernel is followed by a collective, which others run beside.
WorkloadGraph hosted(const Hosted& h) {
  WorkloadBuilder workload("hosted");
  const auto axis = workload.add_axis("data", 4);
  const auto group = workload.add_group("data", {axis});
  ProgramBuilder& program = workload.add_program("p");
  const auto host = program.add_stream("host", schema::StreamKind::HOST);
  const auto compute = program.add_stream("compute", schema::StreamKind::COMPUTE);
  const auto data = program.add_stream("data", schema::StreamKind::COMMUNICATION);
  for (int i = 0; i < h.launches; ++i) {
    const auto launch = program.add_node({.stream = host, .duration_ps = h.launch_us * kUsPs});
    const auto kernel =
        program.add_node({.stream = compute, .duration_ps = h.kernel_us * kUsPs}, {launch});
    if (i > 0) continue;
    program.add_node(
        {.kind = schema::NodeKind::COLLECTIVE, .stream = data, .group = group, .comm_bytes = 1},
        {kernel});
  }
  workload.bind_range(0, {.axis = axis, .first = 0, .count = 4});
  WorkloadGraph graph = workload.build();
  validate(graph);
  return graph;
}

TEST(HostedDevice, WaitsForLaunchesThatTakeLongerThanKernels) {
  const WorkloadGraph graph = hosted({.launches = 50});
  const Cluster cluster(graph, round_accelerator(), round_fabric(), {});
  const ClusterRun run = run_cluster(cluster);
  EXPECT_EQ(run.outcome.simulated_time().ps, std::int64_t{(50 * 6 + 2) * kUsPs});
  const ClassTotals total = run.outcome.total();
  EXPECT_NEAR(run.outcome.fraction(total, TimeClass::compute), 100.0 / 302, 1e-12);
  EXPECT_NEAR(host_seconds(cluster, run.outcome), 300e-6, 1e-15);
  ASSERT_EQ(compute_times(cluster, run.outcome).size(), 1u);
  EXPECT_EQ(compute_times(cluster, run.outcome)[0].nodes, 50);
}

TEST(HostedDevice, DoesNotWaitForLaunchesThatKernelsHide) {
  const WorkloadGraph graph = hosted({.launches = 50, .launch_us = 2, .kernel_us = 6});
  const Cluster cluster(graph, round_accelerator(), round_fabric(), {});
  EXPECT_EQ(run_cluster(cluster).outcome.simulated_time().ps, std::int64_t{(2 + 50 * 6) * kUsPs});
}

// Kernels of no time: all that is left is the host's, and the collective's, which ends before.
TEST(HostedDevice, SlowsItsHostByNothingThatSlowsItself) {
  Accelerator accelerator = round_accelerator();
  accelerator.overlap_slowdown = 2;
  const WorkloadGraph graph = hosted({.launches = 50, .kernel_us = 0});
  const Cluster cluster(
      graph, accelerator, round_fabric(),
      {.compute_jitter = 0.25, .slow_devices = {{.devices = {0}, .factor_ppm = 3'000'000}}});
  EXPECT_EQ(run_cluster(cluster).outcome.simulated_time().ps, std::int64_t{50 * 6 * kUsPs});
}

}  // namespace
}  // namespace exawarp::tests
