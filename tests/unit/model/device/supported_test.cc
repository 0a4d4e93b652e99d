#include "model/device/supported.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "model/workload/validate.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using namespace model;
using schema::NodeKind;
using schema::StreamKind;

std::string refusal(WorkloadGraph graph) {
  validate(graph);
  try {
    check_supported(graph);
    return "accepted";
  } catch (const core::InputError& error) {
    return error.what();
  }
}

TEST(Supported, RefusesOneTagOnTwoStreams) {
  WorkloadBuilder workload("tags");
  const auto axis = workload.add_axis("device", 2);
  ProgramBuilder& program = workload.add_program("p");
  for (int i = 0; i < 2; ++i) {
    const auto stream = program.add_stream("s", StreamKind::COMMUNICATION);
    program.add_node(
        {.kind = NodeKind::RECEIVE, .stream = stream, .peer = 1, .tag = 5, .comm_bytes = 1});
  }
  workload.bind_range(0, {.axis = axis, .first = 0, .count = 1});
  workload.add_program("nothing").add_stream("s", StreamKind::COMPUTE);
  workload.bind_range(1, {.axis = axis, .first = 1, .count = 1});
  EXPECT_EQ(refusal(workload.build()),
            "generated workload: programs[0] \"p\" nodes[1]: receives from a peer and with a tag "
            "that stream 0 receives too, so which message is whose is open: tag 5; expected "
            "another tag");
}

// Devices 0 and 1 are in one group and run a collective there: device 0 on its stream 0, device 1
// on its stream `other`.
WorkloadGraph two_members(std::uint8_t other) {
  WorkloadBuilder workload("two members");
  const auto axis = workload.add_axis("data", 2);
  const auto group = workload.add_group("data", {axis});
  for (std::uint32_t d = 0; d < 2; ++d) {
    ProgramBuilder& program = workload.add_program(d == 0 ? "a" : "b");
    program.add_stream("s", StreamKind::COMMUNICATION);
    program.add_stream("t", StreamKind::COMMUNICATION);
    program.add_node({.kind = NodeKind::COLLECTIVE,
                      .stream = d == 0 ? std::uint8_t{0} : other,
                      .group = group,
                      .comm_bytes = 100});
    workload.bind_range(d, {.axis = axis, .first = d, .count = 1});
  }
  return workload.build();
}

TEST(Supported, RunsMembersThatNumberStreamsDifferently) {
  WorkloadGraph graph = two_members(1);
  validate(graph);
  const auto run = tests::simulate(std::move(graph));
  EXPECT_EQ(run.outcome.unfinished(), 0u);
}

}  // namespace
}  // namespace exawarp::tests
