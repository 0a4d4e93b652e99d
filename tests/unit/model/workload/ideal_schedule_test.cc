// Devices that behave alike, and start times on a network that takes no time.
#include "model/workload/ideal_schedule.h"

#include <gtest/gtest.h>

#include "model/generate/microbenchmark.h"
#include "model/generate/transformer.h"
#include "model/workload/builder.h"
#include "model/workload/device_classes.h"
#include "model/workload/validate.h"
#include "tests/support/workload_builders.h"

namespace exawarp::tests {
namespace {

using namespace model;

std::uint64_t recorded(const Program& program, std::uint32_t node) {
  return program.node(node).getDurationPs();
}

NodeFields compute(std::uint8_t stream, std::uint64_t duration) {
  NodeFields fields{.stream = stream};
  fields.duration_ps = duration;
  return fields;
}

// A pipeline of `stages` devices that share one program except at its ends: each computes for 10
// after its message came.
WorkloadGraph relay(std::uint32_t stages) {
  WorkloadBuilder workload("relay");
  const std::uint8_t axis = workload.add_axis("stage", stages);
  for (const int part : {0, 1, 2}) {  // first, middle, last
    ProgramBuilder& program = workload.add_program(part == 0 ? "first" : "other");
    const std::uint8_t work = program.add_stream("work", schema::StreamKind::COMPUTE);
    const std::uint8_t wire = program.add_stream("wire", schema::StreamKind::COMMUNICATION);
    NodeFields message{.kind = schema::NodeKind::RECEIVE, .stream = wire, .peer_axis = axis};
    message.peer = -1;
    message.comm_bytes = 8;
    const std::uint32_t done =
        part == 0 ? program.add_node(compute(work, 10))
                  : program.add_node(compute(work, 10), {program.add_node(message)});
    message.kind = schema::NodeKind::SEND;
    message.peer = 1;
    if (part != 2) program.add_node(message, {done});
    const std::uint32_t first = part == 0 ? 0 : part == 1 ? 1 : stages - 1;
    workload.bind_range(program.index(),
                        {.axis = axis, .first = first, .count = part == 1 ? stages - 2 : 1});
  }
  WorkloadGraph graph = workload.build();
  validate(graph);
  return graph;
}

TEST(DeviceClasses, StagesThatShareAProgramAreToldApartByTheirPlace) {
  EXPECT_EQ(device_classes(relay(6)).representative.size(), 6u);
}

TEST(DeviceClasses, DevicesThatDifferInTheirRankAloneAreAlike) {
  TransformerSpec spec = tests::tiny_llama();
  spec.parallel = {.tensor = 2, .pipeline = 2, .data = 4};
  EXPECT_EQ(device_classes(generate_transformer(spec)).representative.size(), 2u);
}

TEST(IdealSchedule, AMessageMakesItsReceiverWait) {
  const auto schedule = ideal_schedule(relay(6), recorded);
  ASSERT_TRUE(schedule && schedule->finishes);
  EXPECT_EQ(schedule->length, 60u);
  EXPECT_EQ(schedule->path.front().device, 0u);
  EXPECT_EQ(schedule->path.back().device, 5u);
}

TEST(IdealSchedule, ACollectiveEndsWhenItsLastMemberComes) {
  WorkloadBuilder workload("uneven");
  const std::uint8_t axis = workload.add_axis("device", 2);
  const std::uint16_t all = workload.add_group("all", {axis});
  for (const std::uint64_t duration : {10u, 70u}) {
    ProgramBuilder& program = workload.add_program("p");
    const std::uint8_t work = program.add_stream("work", schema::StreamKind::COMPUTE);
    NodeFields barrier{.kind = schema::NodeKind::COLLECTIVE, .stream = work};
    barrier.collective = schema::CollectiveType::BARRIER;
    barrier.group = all;
    program.add_node(compute(work, duration));
    program.add_node(barrier);
    program.add_node(compute(work, 5));
    workload.bind_range(program.index(), {.axis = axis, .first = program.index(), .count = 1});
  }
  WorkloadGraph graph = workload.build();
  validate(graph);
  const auto schedule = ideal_schedule(graph, recorded);
  ASSERT_TRUE(schedule && schedule->finishes);
  EXPECT_EQ(schedule->length, 75u);
  EXPECT_EQ(schedule->times[schedule->class_of[0]][1].start, 10u);
  EXPECT_EQ(schedule->times[schedule->class_of[0]][1].end, 70u);
  // The path goes over the device that comes late.
  EXPECT_EQ(schedule->path.front().device, 1u);
}

TEST(IdealSchedule, AMessageThatNobodySendsIsNamed) {
  WorkloadBuilder builder = tests::two_devices(8);
  WorkloadGraph graph = builder.build();
  validate(graph);
  const auto schedule = ideal_schedule(graph, recorded);
  ASSERT_TRUE(schedule.has_value());
  EXPECT_FALSE(schedule->finishes);
  EXPECT_NE(schedule->waiting.find("device 1: node 0"), std::string::npos) << schedule->waiting;
  EXPECT_NE(schedule->waiting.find("waits for its message"), std::string::npos);
}

}  // namespace
}  // namespace exawarp::tests
