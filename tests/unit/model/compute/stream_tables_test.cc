// Tables of kernels that move memory, of products whose operands other nodes convert, and what a
// device that is busy for seconds takes longer.
#include "model/compute/stream_tables.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "model/compute/compute_models.h"
#include "model/compute/kernel_tables.h"
#include "tests/support/cluster_fixture.h"
#include "tests/support/kernel_rows.h"

namespace exawarp::tests {
namespace {

using namespace model;
using Kernel = schema::StreamKernel;

KernelTable table(const char* operation, std::vector<std::string> axes, const KernelRows& rows,
                  const char* type = "bfloat16") {
  return KernelTable::from_rows(
      "rows",
      {.operation = operation, .data_type = type, .keys = {}, .axes = std::move(axes)}, rows);
}

ComputeOperation moved(Kernel kernel, std::uint64_t rows, std::uint64_t width) {
  return {.operation = schema::Operation::ELEMENTWISE,
          .data_type = schema::DataType::BF16,
          .bytes = 6 * rows * width,
          .shape = StreamShape{.kernel = kernel, .rows = rows, .width = width}};
}

class StreamTables : public ::testing::Test {
 protected:
  [[nodiscard]] Priced price(const ComputeOperation& operation) const {
    Accelerator accelerator = accelerator_;
    accelerator.tables = tables_;
    return ComputeModels(accelerator, {.fidelity = ComputeFidelity::table}).price(operation);
  }
  [[nodiscard]] double us(const ComputeOperation& operation) const {
    return static_cast<double>(price(operation).duration.ps) / 1e6;
  }
  Accelerator accelerator_ = tests::round_accelerator();
  std::shared_ptr<KernelTables> tables_ = std::make_shared<KernelTables>("");
};

TEST_F(StreamTables, EachKernelHasOneAndIsFoundByItsName) {
  for (std::uint16_t i = 0; i <= static_cast<std::uint16_t>(Kernel::PRODUCT_ADD_FP32); ++i) {
    const StreamTable* by_kernel = stream_table(static_cast<Kernel>(i));
    ASSERT_NE(by_kernel, nullptr) << i;
    EXPECT_EQ(by_kernel, stream_table(by_kernel->name));
  }
  EXPECT_EQ(stream_table(static_cast<Kernel>(999)), nullptr) << "of a later version";
  EXPECT_EQ(stream_table("gemm"), nullptr);
  EXPECT_EQ(stream_table(Kernel::SWIGLU_BACKWARD)->name, "swiglu_backward");
}

TEST_F(StreamTables, ActivationsGoByTheirElements) {
  tables_->add(table("swiglu", {"elements"}, {{{}, {1024}, 3}, {{}, {4096}, 6}}));
  const Priced measured = price(moved(Kernel::SWIGLU, 32, 128));
  EXPECT_EQ(measured.provenance, Provenance::measured);
  EXPECT_NEAR(us(moved(Kernel::SWIGLU, 32, 128)), 6, 0.01);
  EXPECT_NEAR(us(moved(Kernel::SWIGLU, 20, 128)), 4.5, 0.01) << "half of the way between";
  EXPECT_NEAR(us(moved(Kernel::SWIGLU, 1, 8)), 3, 0.01) << "a kernel's start is not less";
  EXPECT_NEAR(us(moved(Kernel::SWIGLU, 8, 4096)), 6. * 8, 0.05) << "the work, beyond";
  EXPECT_EQ(price(moved(Kernel::GELU, 32, 128)).provenance, Provenance::modelled);
  EXPECT_EQ(price(moved(static_cast<Kernel>(999), 32, 128)).provenance, Provenance::modelled);
}

TEST_F(StreamTables, NormsGoByRowsAndWidth) {
  tables_->add(table("rms_norm", {"rows", "width"},
                     {{{}, {64, 512}, 2}, {{}, {64, 1024}, 5}, {{}, {128, 512}, 3},
                      {{}, {128, 1024}, 9}}));
  EXPECT_NEAR(us(moved(Kernel::RMS_NORM, 128, 512)), 3, 0.01);
  EXPECT_NEAR(us(moved(Kernel::RMS_NORM, 64, 1024)), 5, 0.01) << "as many elements";
}

// The more tokens a product sums up, the more of the sum's traffic its arithmetic hides; a small
// result takes its share.
TEST_F(StreamTables, WhatProductsAddGoesByTokensAndResults) {
  tables_->add(table("product_add_fp32", {"summed", "results"},
                     {{{}, {1024, 1'000'000}, 10}, {{}, {1024, 2'000'000}, 20},
                      {{}, {4096, 1'000'000}, 4}, {{}, {4096, 2'000'000}, 8}}));
  EXPECT_NEAR(us(moved(Kernel::PRODUCT_ADD_FP32, 4096, 2'000'000)), 8, 0.01);
  EXPECT_NEAR(us(moved(Kernel::PRODUCT_ADD_FP32, 1024, 100'000)), 1, 0.01);
  EXPECT_NEAR(us(moved(Kernel::PRODUCT_ADD_FP32, 65'536, 1'000'000)), 4, 0.01)
      << "no longer, and no shorter than was measured";
}

ComputeOperation eight_bits(bool converted) {
  return {.operation = schema::Operation::GEMM,
          .data_type = schema::DataType::FP8,
          .flops = std::uint64_t{2} * 64 * 256 * 128,
          .shape = GemmShape{.m = 64, .n = 256, .k = 128, .converted = converted}};
}

TEST_F(StreamTables, ProductsOfConvertedOperandsHaveTheirOwn) {
  tables_->add(table("gemm", {"m", "n", "k"}, {{{}, {64, 256, 128}, 12}}, "fp8"));
  EXPECT_NEAR(us(eight_bits(true)), 12, 0.01) << "none of their own: with the conversion";
  tables_->add(table("gemm_converted", {"m", "n", "k"}, {{{}, {64, 256, 128}, 7}}, "fp8"));
  EXPECT_NEAR(us(eight_bits(true)), 7, 0.01);
  EXPECT_NEAR(us(eight_bits(false)), 12, 0.01);
}

// 4,194,304 FLOPs in 10 us are 0.42 TFLOP/s: all of the rise from 0.4 of the peak on.
TEST_F(StreamTables, ADeviceBusyForSecondsTakesLongerForWhatFillsItsMatrixUnits) {
  tables_->add(table("gemm", {"m", "n", "k"}, {{{}, {64, 256, 128}, 10}}, "fp8"));
  tables_->add(table("add", {"elements"}, {{{}, {4096}, 6}}));
  accelerator_.sustained = {{.idle_share = 0, .slowdown = 1.2}};
  const auto with_peak = [&](double flops_per_s) {
    accelerator_.matrix_flops_per_s[static_cast<std::size_t>(schema::DataType::FP8)] = flops_per_s;
    return us(eight_bits(false));
  };
  EXPECT_NEAR(with_peak(0.5e12), 12, 0.01);
  EXPECT_NEAR(with_peak(0.4194304e12 * 10), 10 * (1 + 0.2 * 0.1 / 0.4), 0.01);
  EXPECT_NEAR(us(moved(Kernel::ADD, 32, 128)), 6, 0.01) << "memory's kernels take what they took";
  accelerator_.sustained.clear();
  EXPECT_NEAR(with_peak(0.5e12), 10, 0.01);
}

TEST(SustainedSlowdown, LiesOnLinesBetweenWhatWasMeasured) {
  Accelerator chip;
  EXPECT_EQ(chip.sustained_slowdown(), 1);
  chip.sustained = {{.idle_share = 0.1, .slowdown = 1.3},
                    {.idle_share = 0.15, .slowdown = 1.1},
                    {.idle_share = 0.5, .slowdown = 1}};
  EXPECT_EQ(chip.sustained_slowdown(), 1.1) << "15 % are the default";
  const auto at = [&](double idle_share) {
    chip.idle_share = idle_share;
    return chip.sustained_slowdown();
  };
  EXPECT_EQ(at(0), 1.3);
  EXPECT_EQ(at(0.1), 1.3);
  EXPECT_NEAR(at(0.125), 1.2, 1e-12);
  EXPECT_NEAR(at(0.325), 1.05, 1e-12);
  EXPECT_EQ(at(0.5), 1);
  EXPECT_EQ(at(1), 1);
  chip.sustained = {{.idle_share = 0, .slowdown = 1.2}};
  EXPECT_EQ(at(0), 1.2);
  EXPECT_EQ(at(0.7), 1.2);
}

}  // namespace
}  // namespace exawarp::tests
