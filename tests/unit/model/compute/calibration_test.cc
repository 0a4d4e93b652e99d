#include "model/compute/calibration.h"

#include <gtest/gtest.h>

#include "model/compute/compute_models.h"

namespace exawarp::tests {
namespace {

using namespace model;

Accelerator accelerator_of(const Calibration& calibration) {
  Accelerator out;
  out.name = "round";
  out.matrix_flops_per_s.fill(1e12);
  out.vector_flops_per_s = 1e12;
  out.memory_bytes_per_s = 1e12;
  out.host_bytes_per_s = 1e12;
  out.calibration = calibration;
  return out;
}

std::int64_t priced_ps(const Calibration& calibration, const ComputeOperation& operation) {
  const Accelerator accelerator = accelerator_of(calibration);
  const ComputeModels models(accelerator, {.fidelity = ComputeFidelity::recorded});
  return models.price(operation).duration.ps;
}

constexpr Calibration kEachDifferent() {
  return {.products = 2, .eight_bit_products = 3, .attention = 4, .memory = 5};
}

TEST(Calibration, EachKindOfKernelHasItsFactor) {
  using enum schema::Operation;
  const auto of = [](schema::Operation operation, schema::DataType type) {
    return priced_ps(kEachDifferent(),
                     {.operation = operation, .data_type = type, .flops = 1'000'000});
  };
  EXPECT_EQ(of(GEMM, schema::DataType::BF16), 2'000'000);
  EXPECT_EQ(of(CONVOLUTION, schema::DataType::FP16), 2'000'000);
  EXPECT_EQ(of(GEMM, schema::DataType::FP8), 3'000'000);
  EXPECT_EQ(of(GEMM, schema::DataType::INT8), 3'000'000);
  EXPECT_EQ(of(ATTENTION, schema::DataType::BF16), 4'000'000);
  EXPECT_EQ(of(NORM, schema::DataType::BF16), 5'000'000);
}

TEST(Calibration, WhatIsRecordedOrMovedToTheHostIsLeftAlone) {
  EXPECT_EQ(priced_ps(kEachDifferent(), {.operation = schema::Operation::GEMM,
                                         .data_type = schema::DataType::BF16,
                                         .flops = 1'000'000,
                                         .recorded = core::Time{77}}),
            77);
  EXPECT_EQ(priced_ps(kEachDifferent(), {.moves_memory = true, .to_host = true, .bytes = 1'000}),
            1'000);
}

TEST(Calibration, OneChangesNothing) {
  EXPECT_EQ(priced_ps({}, {.operation = schema::Operation::GEMM,
                           .data_type = schema::DataType::BF16,
                           .flops = 1'000'001}),
            1'000'001);
}

}  // namespace
}  // namespace exawarp::tests
