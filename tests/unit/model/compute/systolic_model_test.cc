// Products priced by cycles of systolic arrays.
#include "model/compute/systolic_model.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "model/compute/compute_models.h"
#include "model/compute/roofline.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::model {
namespace {

// An array of 32 x 32 at 1 GHz, with memory that makes nothing wait.
Accelerator with_array(Dataflow dataflow = Dataflow::weight_stationary) {
  Accelerator out = tests::round_accelerator();
  out.memory_bytes_per_s = 1e18;
  out.launch_latency = {};
  out.systolic = SystolicUnit{.array = {.rows = 32, .columns = 32, .dataflow = dataflow},
                              .clock_hz = 1'000'000'000};
  return out;
}

ComputeOperation operation(const Shape& shape, schema::DataType type = schema::DataType::BF16) {
  return {.operation = schema::Operation::GEMM,
          .data_type = type,
          .flops = 1'000'000,
          .bytes = 1'000,
          .shape = shape};
}

double cycles(const Accelerator& accelerator, const ComputeOperation& what) {
  const ComputeModels models(accelerator, {.fidelity = ComputeFidelity::systolic});
  return static_cast<double>(models.price(what).duration.ps) / 1e3;  // of 1 ns
}

constexpr GemmShape kShape{.m = 200, .n = 64, .k = 1000};

TEST(SystolicModel, TakesTheCyclesOfScaleSim) {
  EXPECT_NEAR(cycles(with_array(Dataflow::output_stationary), operation(kShape)), 14867, 0.01);
  EXPECT_NEAR(cycles(with_array(Dataflow::weight_stationary), operation(kShape)), 18815, 0.01);
}

TEST(SystolicModel, IsModelled) {
  const Accelerator accelerator = with_array();
  const ComputeModels models(accelerator, {.fidelity = ComputeFidelity::systolic});
  EXPECT_EQ(models.price(operation(kShape)).provenance, Provenance::modelled);
}

TEST(SystolicModel, DealsWholeFoldsToArrays) {
  Accelerator accelerator = with_array();
  accelerator.systolic->arrays = 3;  // 64 folds of 200 + 94 cycles
  EXPECT_NEAR(cycles(accelerator, operation(kShape)), 22 * 294 - 1, 0.01);
  accelerator.systolic->arrays = 128;  // two to a fold
  EXPECT_NEAR(cycles(accelerator, operation(kShape)), 100 + 94 - 1, 0.01);
  accelerator.systolic->array.dataflow = Dataflow::output_stationary;  // 14 folds, not cut
  EXPECT_NEAR(cycles(accelerator, operation(kShape)), 1000 + 62 - 1, 0.01);
}

TEST(SystolicModel, ABatchHasFoldsOfEachProduct) {
  GemmShape batch = kShape;
  batch.batch = 5;
  EXPECT_NEAR(cycles(with_array(), operation(batch)), 5 * 64 * 294 - 1, 0.01);
}

TEST(SystolicModel, WaitsForMemoryAndItsFirstOperand) {
  Accelerator accelerator = with_array();
  accelerator.memory_bytes_per_s = 10e9;  // 10 bytes a cycle
  const auto share =
      accelerator.efficiency[static_cast<std::size_t>(schema::Operation::GEMM)].memory;
  const GemmShape one{.m = 32, .n = 32, .k = 32};  // a fold: 125 cycles, three tiles of 2,048 B
  const double tile = 2048 / (10 * share);
  EXPECT_NEAR(cycles(accelerator, operation(one)), 3 * tile + tile, 0.01);
}

TEST(SystolicModel, MovesLessWhereMoreStaysOnChip) {
  SystolicUnit unit = *with_array().systolic;
  const GemmShape shape{.m = 64, .n = 96, .k = 128};  // weight stationary: 4 x 3 folds
  const double input = 64 * 128, weight = 128 * 96, output = 64 * 96;
  SystolicMemory memory{.bytes_per_cycle = 1, .sram_bytes = 0, .element_bytes = 1};
  EXPECT_EQ(systolic_bytes(unit, shape, memory), weight + 3 * input + 4 * output);
  memory.sram_bytes = 2 * 2048;  // a third of the output, a quarter of the input
  EXPECT_EQ(systolic_bytes(unit, shape, memory), output + weight + 3 * input);
  memory.sram_bytes = 2 * 6144;  // all of the output
  EXPECT_EQ(systolic_bytes(unit, shape, memory), output + weight + input);
  GemmShape batch = shape;
  batch.batch = 7;
  EXPECT_EQ(systolic_bytes(unit, batch, memory), 7 * (output + weight + input));
}

TEST(SystolicModel, AnArrayOfOtherTypesRunsAtTheirRate) {
  Accelerator accelerator = with_array();
  const auto rate = [&](schema::DataType type) -> double& {
    return accelerator.matrix_flops_per_s[static_cast<std::size_t>(type)];
  };
  rate(schema::DataType::BF16) = 1e12;
  rate(schema::DataType::INT8) = 2e12;
  EXPECT_NEAR(cycles(accelerator, operation(kShape, schema::DataType::INT8)), 18815 / 2.0, 0.01);
}

TEST(SystolicModel, AttentionIsItsTwoProducts) {
  const Accelerator accelerator = with_array();
  const AttentionShape core{.batch = 2,
                            .new_tokens = 64,
                            .heads = 3,
                            .key_value_heads = 3,
                            .head_dim = 128,
                            .value_dim = 96};
  const double scores =
      cycles(accelerator, operation(GemmShape{.m = 64, .n = 64, .k = 128, .batch = 6}));
  const double values =
      cycles(accelerator, operation(GemmShape{.m = 64, .n = 96, .k = 64, .batch = 6}));
  EXPECT_NEAR(cycles(accelerator, operation(core)), scores + values, 0.01);
  AttentionShape causal = core;
  causal.causal = true;
  EXPECT_LT(cycles(accelerator, operation(causal)), scores + values);
  AttentionShape backward = core;
  backward.backward = true;
  EXPECT_GT(cycles(accelerator, operation(backward)), 2 * (scores + values));
}

TEST(SystolicModel, ALineFromCyclesToTimesReplacesTheClock) {
  Accelerator accelerator = with_array();
  accelerator.memory_bytes_per_s = 1;
  accelerator.launch_latency = core::Time{1'000'000'000};
  accelerator.systolic->arrays = 4;
  accelerator.systolic->cycles_to_time = {
      {.size_max = 32, .ns_per_cycle = 3, .intercept = core::Time{5'000}},
      {.size_max = 1'000, .ns_per_cycle = 2, .intercept = core::Time{7'000}}};
  EXPECT_NEAR(cycles(accelerator, operation(GemmShape{.m = 32, .n = 32, .k = 32})), 3 * 125 + 5,
              0.01);
  EXPECT_NEAR(cycles(accelerator, operation(kShape)), 2 * 18815 + 7, 0.01);
  const double beyond = cycles(accelerator, operation(GemmShape{.m = 1'001, .n = 64, .k = 1'000}));
  EXPECT_NEAR(beyond, 2 * (64 * 1095 - 1) + 7, 0.01);
}

TEST(SystolicModel, LeavesOtherOperationsToTheRoofline) {
  const Accelerator accelerator = with_array();
  const ComputeModels models(accelerator, {.fidelity = ComputeFidelity::systolic});
  ComputeOperation norm = operation({});
  norm.operation = schema::Operation::NORM;
  EXPECT_EQ(models.price(norm).duration, Roofline(accelerator).duration(norm));
  EXPECT_EQ(models.price(operation({})).duration, Roofline(accelerator).duration(operation({})));
}

TEST(SystolicModel, RefusesWhatDoesNotFit) {
  const Accelerator accelerator = with_array();
  constexpr std::uint64_t kLarge = kShapeSizeMax - 1;
  EXPECT_THROW(
      (void)cycles(accelerator, operation(GemmShape{.m = kLarge, .n = kLarge, .k = kLarge})),
      core::InputError);
  EXPECT_THROW(
      (void)cycles(accelerator, operation(AttentionShape{.batch = kLarge, .heads = kLarge})),
      core::InputError);
}

}  // namespace
}  // namespace exawarp::model
