// Several interfaces of a device at message fidelity: each has a clock of its own.
#include <gtest/gtest.h>

#include "model/workload/validate.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::Time;
using schema::NodeKind;
using schema::StreamKind;

// Device 0 sends `messages` of 1,000 bytes to device 1 at once, each with a tag of its own.
WorkloadGraph burst(std::uint32_t messages) {
  WorkloadBuilder workload("burst");
  const std::uint8_t axis = workload.add_axis("device", 2);
  for (std::uint32_t d = 0; d < 2; ++d) {
    ProgramBuilder& program = workload.add_program(d == 0 ? "sender" : "receiver");
    for (std::uint32_t m = 0; m < messages; ++m) {
      const std::uint8_t stream = program.add_stream("s", StreamKind::COMMUNICATION);
      program.add_node({.kind = d == 0 ? NodeKind::SEND : NodeKind::RECEIVE,
                        .stream = stream,
                        .peer = d == 0 ? 1 : 0,
                        .tag = m,
                        .comm_bytes = 1'000},
                       {});
    }
    workload.bind_range(d, {.axis = axis, .first = d, .count = 1});
  }
  WorkloadGraph graph = workload.build();
  validate(graph);
  return graph;
}

// A byte takes 1 ns on a port, a link 1 us, nothing else takes time.
Fabric planes(std::uint32_t count) {
  FamilySpec family{.shape = SingleSwitchSpec{count, {"link", 1'000'000'000, Time{1'000'000}}, {}},
                    .place = "t"};
  return {.networks = {family}, .place = "t"};
}

Time time_of(const WorkloadGraph& graph, const Fabric& fabric, const tests::RunCase& run = {}) {
  const Cluster cluster(graph, tests::round_accelerator(), fabric, {});
  return tests::run_cluster(cluster, run).outcome.simulated_time();
}

TEST(Rails, MessagesOfDifferentConnectionsLeaveAndArriveSideBySide) {
  const WorkloadGraph four = burst(4);
  const Time latency{2'000'000}, wire{1'000'000};
  EXPECT_EQ(time_of(four, planes(1)), latency + 4 * wire);
  EXPECT_EQ(time_of(four, planes(2)), latency + 2 * wire);
  EXPECT_EQ(time_of(four, planes(4)), latency + wire);
  EXPECT_EQ(time_of(four, planes(8)), latency + wire);
}

}  // namespace
}  // namespace exawarp::tests
