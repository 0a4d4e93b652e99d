// Durations by the formula of compute/roofline.h, computed by hand.
#include "model/compute/roofline.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "model/compute/compute_models.h"
#include "model/compute/jitter.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::Time;
using schema::DataType;
using schema::NodeKind;
using schema::Operation;

// A graph of one node, for its reader.
WorkloadGraph graph_of(const NodeFields& fields) {
  WorkloadBuilder workload("one node");
  const auto axis = workload.add_axis("device", 1);
  ProgramBuilder& program = workload.add_program("p");
  program.add_stream("compute", schema::StreamKind::COMPUTE);
  program.add_node(fields);
  workload.bind_range(0, {.axis = axis, .first = 0, .count = 1});
  WorkloadGraph graph = workload.build();
  graph.index();
  return graph;
}

Time duration(const NodeFields& fields, const Accelerator& accelerator = tests::round_accelerator(),
              ComputeFidelity fidelity = ComputeFidelity::roofline) {
  const WorkloadGraph graph = graph_of(fields);
  return ComputeModels(accelerator, {.fidelity = fidelity})
      .price(operation_of(graph.program(0).node(0), {}))
      .duration;
}

constexpr NodeFields kGemm{
    .operation = Operation::GEMM, .data_type = DataType::BF16, .flops = 2'000'000};

TEST(Roofline, IsBoundByTheMatrixRateWhereBytesAreFew) {
  EXPECT_EQ(duration(kGemm), Time{2'000'000});  // 2e6 flops at 1e12 flops/s
}

TEST(Roofline, IsBoundByMemoryWhereBytesAreMany) {
  NodeFields node = kGemm;
  node.bytes_read = 4'000'000;
  node.bytes_written = 1'000'000;
  EXPECT_EQ(duration(node), Time{5'000'000});  // 5e6 bytes at 1e12 bytes/s
}

TEST(Roofline, KeepsTheMatrixUnitsClockBelowThePeaks) {
  Accelerator accelerator = tests::round_accelerator();
  accelerator.sustained_clock = 0.8;
  EXPECT_EQ(duration(kGemm, accelerator), Time{2'500'000});
  NodeFields norm = kGemm;
  norm.operation = Operation::NORM;
  EXPECT_EQ(duration(norm, accelerator), Time{20'000'000});
}

TEST(Roofline, TakesTheVectorRateForOtherOperations) {
  NodeFields node = kGemm;
  node.operation = Operation::NORM;
  EXPECT_EQ(duration(node), Time{20'000'000});
}

TEST(Roofline, DividesByTheEfficiencyAndAddsTheLaunch) {
  Accelerator accelerator = tests::round_accelerator();
  accelerator.launch_latency = Time{3'000'000};
  accelerator.efficiency[static_cast<std::size_t>(Operation::GEMM)] = {.compute = 0.5,
                                                                      .memory = 1};
  EXPECT_EQ(duration(kGemm, accelerator), Time{7'000'000});
}

TEST(Roofline, RoundsUpToAPicosecond) {
  NodeFields node = kGemm;
  node.flops = 1;
  Accelerator accelerator = tests::round_accelerator();
  accelerator.matrix_flops_per_s[static_cast<std::size_t>(DataType::BF16)] = 3e12;
  EXPECT_EQ(duration(node, accelerator), Time{1});
}

TEST(Roofline, MovesAMemoryNodeToTheHostOverTheHostLink) {
  NodeFields node{.kind = NodeKind::MEMORY, .bytes_read = 1'000};
  EXPECT_EQ(duration(node), Time{1'000});
  node.place = schema::MemoryPlace::HOST;
  EXPECT_EQ(duration(node), Time{100'000});
}

TEST(Roofline, ARecordedDurationWinsAtItsOwnFidelityOnly) {
  NodeFields node = kGemm;
  node.duration_ps = 77;
  const Accelerator accelerator = tests::round_accelerator();
  EXPECT_EQ(duration(node, accelerator, ComputeFidelity::recorded), Time{77});
  EXPECT_EQ(duration(node, accelerator, ComputeFidelity::roofline), Time{2'000'000});
}

TEST(Roofline, ARecordedDurationIsAllThereIsWithoutFlopsAndBytes) {
  EXPECT_EQ(duration({.duration_ps = 77}), Time{77});
}

TEST(Roofline, NamesTheRateThatTheAcceleratorLacks) {
  NodeFields node = kGemm;
  node.data_type = DataType::FP8;
  try {
    duration(node);
    FAIL() << "accepted";
  } catch (const core::InputError& error) {
    EXPECT_STREQ(error.what(),
                 "needs a rate that accelerator \"round\" does not give: \"matrix rate of the data "
                 "type\"; expected a rate and an efficiency above 0 there");
  }
}

TEST(Jitter, HasTheMeanAndTheDeviationItIsGiven) {
  constexpr double kSigma = 0.1;
  constexpr std::uint32_t kDraws = 200'000;
  const Jitter jitter(kSigma, 5);
  double sum = 0, squares = 0;
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    const double f =
        static_cast<double>(jitter.apply(Time{1'000'000'000}, i % 1000, i / 1000).ps) / 1e9;
    EXPECT_GT(f, 1 - 3.4642 * kSigma);
    EXPECT_LT(f, 1 + 3.4642 * kSigma);
    sum += f;
    squares += (f - 1) * (f - 1);
  }
  EXPECT_NEAR(sum / kDraws, 1, 4 * kSigma / std::sqrt(kDraws));
  EXPECT_NEAR(std::sqrt(squares / kDraws), kSigma, 0.001);
}

TEST(Jitter, IsAFunctionOfSeedDeviceAndNode) {
  const Jitter jitter(0.2, 5);
  const Time t{1'000'000};
  EXPECT_EQ(jitter.apply(t, 3, 4), Jitter(0.2, 5).apply(t, 3, 4));
  EXPECT_NE(jitter.apply(t, 3, 4), jitter.apply(t, 4, 3));
  EXPECT_NE(jitter.apply(t, 3, 4), Jitter(0.2, 6).apply(t, 3, 4));
}

TEST(Jitter, OfZeroChangesNothing) {
  EXPECT_TRUE(Jitter(0, 1).off());
  EXPECT_EQ(Jitter(0, 1).apply(Time{123'456'789}, 1, 2), Time{123'456'789});
}

TEST(Jitter, KeepsTheLongestDurationInRange) {
  const Time longest{std::int64_t{1} << 61};
  EXPECT_GT(Jitter(kJitterMax, 9).apply(longest, 0, 0).ps, 0);
}

}  // namespace
}  // namespace exawarp::tests
