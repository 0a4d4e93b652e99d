// What a run says of devices that cannot finish, and how figures combine between ranks.
#include "model/outcome.h"

#include <gtest/gtest.h>

#include "model/workload/validate.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using namespace model;
using schema::NodeKind;
using schema::StreamKind;

constexpr std::uint32_t kSilent = 30;  // the device that sends nothing

NodeFields receive_nothing(WorkloadBuilder& workload, std::uint32_t from) {
  return {.kind = NodeKind::RECEIVE,
          .stream = 0,
          .peer = static_cast<std::int32_t>(from),
          .tag = 4,
          .name = workload.name("activations"),
          .comm_bytes = 8};
}

// Thirty devices that wait for a message of a thirty-first.
tests::Simulated thirty_waiting() {
  WorkloadBuilder workload("stuck");
  const auto axis = workload.add_axis("pipeline", kSilent + 1);
  ProgramBuilder& program = workload.add_program("stage 0");
  program.add_stream("recv", StreamKind::COMMUNICATION);
  program.add_node(receive_nothing(workload, kSilent));
  workload.bind_range(0, {.axis = axis, .first = 0, .count = kSilent});
  ProgramBuilder& silent = workload.add_program("silent");
  silent.add_stream("compute", StreamKind::COMPUTE);
  silent.add_node({.duration_ps = 1'000});
  workload.bind_range(1, {.axis = axis, .first = kSilent, .count = 1});
  WorkloadGraph graph = workload.build();
  validate(graph);
  return tests::simulate(std::move(graph));
}

TEST(Deadlock, NamesTheReceiveThatWaits) {
  const auto run = thirty_waiting();
  EXPECT_EQ(run.outcome.waiting()[1].text,
            "device 1 (stage 0): stream \"recv\" waits at node 0 \"activations\" for a message "
            "from device 30, tag 4");
}

TEST(Deadlock, NamesTheFirstTwentyAndCountsAll) {
  const auto run = thirty_waiting();
  EXPECT_EQ(run.outcome.unfinished(), 30u);
  ASSERT_EQ(run.outcome.waiting().size(), 20u);
  EXPECT_EQ(run.outcome.waiting()[19].device, 19u);
}

TEST(Deadlock, NamesTheMemberACollectiveWaitsFor) {
  WorkloadBuilder workload("half a ring");
  const auto axis = workload.add_axis("data", 2);
  const auto group = workload.add_group("data", {axis});
  for (std::uint32_t d = 0; d < 2; ++d) {
    ProgramBuilder& program = workload.add_program("replica");
    const auto first = program.add_stream("recv", StreamKind::COMMUNICATION);
    const auto second = program.add_stream("reduce", StreamKind::COMMUNICATION);
    std::vector<std::uint32_t> after;
    if (d == 1) after.push_back(program.add_node(receive_nothing(workload, 0)));
    static_cast<void>(first);
    program.add_node({.kind = NodeKind::COLLECTIVE,
                      .stream = second,
                      .collective = schema::CollectiveType::ALL_REDUCE,
                      .group = group,
                      .comm_bytes = 8},
                     after);
    workload.bind_range(d, {.axis = axis, .first = d, .count = 1});
  }
  WorkloadGraph graph = workload.build();
  validate(graph);
  const auto run = tests::simulate(std::move(graph));
  ASSERT_EQ(run.outcome.waiting().size(), 2u);
  EXPECT_EQ(run.outcome.waiting()[0].text,
            "device 0 (replica): stream \"reduce\" waits at node 0 in group \"data\" for chunk 1 "
            "of 2 from device 1");
}

TEST(Outcome, WordsCarryEverythingAcross) {
  const auto run = tests::simulate(tests::small_training_step({}));
  Outcome copy(*run.cluster);
  copy.sums_from_words(run.outcome.sums_to_words());
  copy.maxima_from_words(run.outcome.maxima_to_words());
  EXPECT_EQ(copy.simulated_time(), run.outcome.simulated_time());
  EXPECT_EQ(copy.devices(), 32u);
  EXPECT_EQ(copy.time_in(copy.total(), TimeClass::compute),
            run.outcome.time_in(run.outcome.total(), TimeClass::compute));
}

TEST(Outcome, MergingKeepsTheLowestTwentyWaitingDevices) {
  const auto run = thirty_waiting();
  Outcome merged(*run.cluster);
  merged.waiting_from_bytes(run.outcome.waiting_to_bytes());
  merged.waiting_from_bytes(run.outcome.waiting_to_bytes());
  ASSERT_EQ(merged.waiting().size(), 20u);
  EXPECT_EQ(merged.waiting()[0].device, 0u);
  EXPECT_EQ(merged.waiting()[19].device, 9u);
}

TEST(Outcome, FractionsAddUpToOne) {
  const auto run = tests::simulate(tests::small_training_step({}));
  const ClassTotals all = run.outcome.total();
  double sum = 0;
  for (std::size_t c = 0; c < kTimeClassCount; ++c) {
    sum += run.outcome.fraction(all, static_cast<TimeClass>(c));
  }
  EXPECT_NEAR(sum, 1, 1e-12);
}

TEST(Outcome, TrainingFiguresFollowFromTheStepTime) {
  WorkloadBuilder workload("step");
  const auto axis = workload.add_axis("data", 2);
  ProgramBuilder& program = workload.add_program("replica");
  program.add_stream("compute", StreamKind::COMPUTE);
  program.add_node({.duration_ps = 1'000'000'000});  // 1 ms
  workload.bind_range(0, {.axis = axis, .first = 0, .count = 2});
  workload.set_training({.tokens_per_step = 500, .model_flops_per_step = 1e9, .steps = 1});
  WorkloadGraph graph = workload.build();
  validate(graph);
  const TrainingFigures figures = tests::simulate(std::move(graph)).outcome.training();
  EXPECT_DOUBLE_EQ(figures.tokens_per_s, 500'000);
  EXPECT_DOUBLE_EQ(figures.tflops_per_device, 0.5);       // 1e9 / 1 ms / 2 devices
  EXPECT_DOUBLE_EQ(figures.model_flops_utilisation, 0.5);  // of 1 TFLOP/s
}

// One device, 1 ms; products in fp8 peak at 4 TFLOP/s, others at 1.
TEST(Outcome, UtilisationIsOfTheTypeThatMostProductsAreIn) {
  const auto utilisation = [](std::uint64_t fp8_flops) {
    WorkloadBuilder workload("step");
    const auto axis = workload.add_axis("data", 1);
    ProgramBuilder& program = workload.add_program("p");
    program.add_stream("compute", StreamKind::COMPUTE);
    program.add_node({.operation = schema::Operation::GEMM,
                      .data_type = schema::DataType::BF16,
                      .flops = 400'000'000});
    program.add_node({.operation = schema::Operation::GEMM,
                      .data_type = schema::DataType::FP8,
                      .flops = fp8_flops,
                      .duration_ps = 600'000'000});
    workload.bind_range(0, {.axis = axis, .first = 0, .count = 1});
    workload.set_training({.tokens_per_step = 1, .model_flops_per_step = 1e9, .steps = 1});
    WorkloadGraph graph = workload.build();
    validate(graph);
    Accelerator accelerator = tests::round_accelerator();
    accelerator.matrix_flops_per_s[static_cast<std::size_t>(schema::DataType::FP8)] = 4e12;
    const Cluster cluster(graph, accelerator, tests::round_fabric(),
                          {.compute = {.fidelity = ComputeFidelity::recorded}});
    return tests::run_cluster(cluster).outcome.training().model_flops_utilisation;
  };
  EXPECT_DOUBLE_EQ(utilisation(500'000'000), 0.25);
  EXPECT_DOUBLE_EQ(utilisation(300'000'000), 1.0);
}

}  // namespace
}  // namespace exawarp::tests
