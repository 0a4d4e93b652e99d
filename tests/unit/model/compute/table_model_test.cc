// Kernels' times as a compute model: which table a shape belongs to, what is derived from a
// measured neighbour, and how sure a sum of them is.
#include "model/compute/table_model.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>

#include "model/compute/compute_models.h"
#include "model/compute/pedigree.h"
#include "tests/support/cluster_fixture.h"
#include "tests/support/kernel_rows.h"

namespace exawarp::tests {
namespace {

using namespace model;

// Products take 5 us and their FLOPs at 1 TFLOP/s.
struct Tabled {
  Accelerator accelerator = tests::round_accelerator();
  Tabled() {
    auto tables = std::make_shared<KernelTables>("");
    tables->add(products());
    KernelRows rows;
    for (const std::uint32_t heads : {8u, 16u}) {
      for (const std::uint32_t tokens : {1024u, 4096u}) {
        rows.push_back({{128, 0, 0}, {heads, 1, tokens}, 1e-6 * heads * tokens * tokens});
      }
    }
    tables->add(attention_table("prefill", {"head_dim", "window", "kv_heads"}, rows));
    accelerator.tables = std::move(tables);
  }
  [[nodiscard]] Priced price(const ComputeOperation& operation,
                             const ComputeChoice& choice = {
                                 .fidelity = ComputeFidelity::table}) const {
    return ComputeModels(accelerator, choice).price(operation);
  }
};

ComputeOperation product(const Shape& shape) {
  return {.operation = schema::Operation::GEMM,
          .data_type = schema::DataType::BF16,
          .flops = 1'000'000,
          .shape = shape};
}

// Of 8 heads and 1,024 tokens.
constexpr AttentionShape kCore{.new_tokens = 1024,
                               .heads = 8,
                               .key_value_heads = 8,
                               .head_dim = 128,
                               .value_dim = 128,
                               .causal = true};

ComputeOperation attention(const AttentionShape& shape) {
  ComputeOperation core = product(shape);
  core.operation = schema::Operation::ATTENTION;
  return core;
}

ComputeOperation attention_backward(std::uint64_t head_dim, std::uint64_t window = 0) {
  AttentionShape shape = kCore;
  shape.head_dim = head_dim;
  shape.window = window;
  shape.backward = true;
  return attention(shape);
}

constexpr GemmShape kMeasured{.m = 64, .n = 256, .k = 128};

TEST(TableModel, TakesTheMeasuredTimeAndTheLaunch) {
  Tabled tabled;
  tabled.accelerator.launch_latency = core::Time{2'000'000};
  const Priced priced = tabled.price(product(kMeasured));
  EXPECT_EQ(priced.provenance, Provenance::measured);
  EXPECT_NEAR(static_cast<double>(priced.duration.ps), 1e6 * (2 + product_us(64, 256, 128)), 3e3);
}

// Three times the FLOPs of its shape: experts' products, one after another.
TEST(TableModel, ANodeOfSeveralProductsTakesAsManyTimesAsLong) {
  const Tabled tabled;
  ComputeOperation several = product(kMeasured);
  several.flops = 3 * 2 * 64 * 256 * 128;
  const Priced priced = tabled.price(several);
  EXPECT_EQ(priced.provenance, Provenance::measured);
  EXPECT_NEAR(static_cast<double>(priced.duration.ps), 3e6 * product_us(64, 256, 128), 9e3);
}

// A file that says so: what lies at its points is no measurement of such kernels.
TEST(TableModel, WhatAFileDerivesIsNotMeasured) {
  const std::string text = products().file_text("rows");
  const std::size_t second = text.find('\n') + 1;
  const auto priced = [](const std::string& bytes) {
    Tabled tabled;
    auto tables = std::make_shared<KernelTables>("");
    tables->add(KernelTable::parse("rows", bytes));
    tabled.accelerator.tables = std::move(tables);
    return tabled.price(product(kMeasured));
  };
  const Priced derived = priced(text.substr(0, second) + "derived\n" + text.substr(second));
  EXPECT_EQ(priced(text).provenance, Provenance::measured);
  EXPECT_EQ(derived.provenance, Provenance::derived);
  EXPECT_EQ(derived.duration, priced(text).duration);
  EXPECT_GT(derived.relative_error, 0.1);
}

TEST(TableModel, SaysTheWattsOfTheKernelAndOfWhatIsDerivedFromIt) {
  Tabled tabled;
  auto tables = std::make_shared<KernelTables>("");
  tables->add(products(rows_with_watts()));
  tables->add(attention_table("prefill", {"head_dim", "window", "kv_heads"},
                              {{{128, 0, 0}, {8, 1, 1024}, 50, 400}}));
  tabled.accelerator.tables = std::move(tables);
  EXPECT_DOUBLE_EQ(tabled.price(product(kMeasured)).watts, 300);
  const ComputeOperation backward = attention_backward(128);
  EXPECT_DOUBLE_EQ(tabled.price(backward).watts, 400);
  EXPECT_EQ(tabled.price(backward).provenance, Provenance::derived);
  EXPECT_EQ(tabled.price(product({})).watts, 0);
}

TEST(TableModel, TakesWattsOfThePowerTablesFirst) {
  Tabled tabled;
  auto elsewhere = std::make_shared<KernelTables>("");
  KernelRows rows = rows_with_watts();
  for (KernelTable::Row& row : rows) row.us *= 2;
  elsewhere->add(products(rows));
  tabled.accelerator.power_tables = std::move(elsewhere);
  const Priced priced = tabled.price(product(kMeasured));
  EXPECT_DOUBLE_EQ(priced.watts, 300);
  EXPECT_EQ(priced.watts_provenance, Provenance::derived);
  EXPECT_EQ(priced.provenance, Provenance::measured);
  EXPECT_NEAR(static_cast<double>(priced.duration.ps), 1e6 * product_us(64, 256, 128), 3e3);
  EXPECT_EQ(tabled.price(product(kMeasured), {}).watts, 0) << "at fidelity roofline";
}

TEST(TableModel, LeavesWhatItDoesNotKnowToTheRoofline) {
  const Tabled tabled;
  ComputeOperation fp32 = product(kMeasured);
  fp32.data_type = schema::DataType::FP16;
  EXPECT_EQ(tabled.price(fp32).provenance, Provenance::measured) << "as bf16";
  EXPECT_EQ(tabled.price(product({})).provenance, Provenance::modelled);
  EXPECT_EQ(tabled.price(product({})).duration, core::Time{1'000'000});
}

TEST(TableModel, AConvolutionIsNoMeasuredProduct) {
  const Tabled tabled;
  ComputeOperation convolution = product(kMeasured);
  convolution.operation = schema::Operation::CONVOLUTION;
  EXPECT_EQ(tabled.price(convolution).provenance, Provenance::modelled);
}

TEST(TableModel, IsChosenForEachKindOfOperation) {
  const Tabled tabled;
  ComputeChoice choice{.fidelity = ComputeFidelity::table};
  choice.by_operation[static_cast<std::size_t>(schema::Operation::GEMM)] =
      ComputeFidelity::roofline;
  EXPECT_EQ(tabled.price(product(kMeasured), choice).provenance, Provenance::modelled);
}

TEST(TableModel, DerivesAttentionsBackwardPass) {
  const Tabled tabled;
  const Priced forward = tabled.price(attention(kCore));
  EXPECT_EQ(forward.provenance, Provenance::measured);
  const Priced backward = tabled.price(attention_backward(128));
  EXPECT_EQ(backward.provenance, Provenance::derived);
  EXPECT_NEAR(static_cast<double>(backward.duration.ps),
              2.5 * static_cast<double>(forward.duration.ps), 10);
}

// The shapes of a table of backward passes, whose times are `factor` times the work.
KernelTable backward_passes(const char* operation, std::vector<std::string> keys,
                            std::vector<std::uint32_t> key, double factor) {
  KernelRows rows;
  for (const std::uint32_t tokens : {1024u, 4096u}) {
    rows.push_back({key, {8, 1, tokens}, factor * 8 * tokens * tokens});
  }
  return attention_table(operation, std::move(keys), rows);
}

TEST(TableModel, TakesTheBackwardPassThatWasMeasured) {
  const auto tables = std::make_shared<KernelTables>("");
  tables->add(attention_table(
      "prefill", {"head_dim", "window", "kv_heads"},
      {{{128, 0, 0}, {8, 1, 1024}, 50, 400}, {{128, 512, 0}, {8, 1, 1024}, 20}}));
  tables->add(backward_passes("prefill_backward", {"head_dim", "window", "kv_heads"}, {128, 0, 0},
                              2e-5));
  tables->add(backward_passes("mla_backward", {}, {}, 3e-5));
  Tabled tabled;
  tabled.accelerator.tables = tables;
  const auto us = [](const Priced& priced) {
    return static_cast<double>(priced.duration.ps) / 1e6;
  };
  const Priced plain = tabled.price(attention_backward(128));
  EXPECT_NEAR(us(plain), 2e-5 * 8 * 1024 * 1024, 0.1);
  EXPECT_EQ(plain.provenance, Provenance::measured);
  EXPECT_DOUBLE_EQ(plain.watts, 400) << "those of the forward pass";
  EXPECT_EQ(plain.watts_provenance, Provenance::derived);
  EXPECT_NEAR(us(tabled.price(attention_backward(192))), 3e-5 * 8 * 1024 * 1024, 0.1);
  const Priced windowed = tabled.price(attention_backward(128, 512));
  EXPECT_EQ(windowed.provenance, Provenance::derived) << "of no backward pass with that window";
  EXPECT_NEAR(us(windowed), 50, 0.1);
}

TEST(TableModel, NarrowerHeadsKeepTheirExponentials) {
  const Tabled tabled;
  const auto us = [&](std::uint64_t width) {
    AttentionShape shape = kCore;
    shape.head_dim = shape.value_dim = width;
    return static_cast<double>(tabled.price(attention(shape)).duration.ps) / 1e6;
  };
  EXPECT_NEAR(us(64), 0.75 * us(128), 0.1);
  EXPECT_NEAR(us(256), 2 * us(128), 0.1);
}

TEST(Pedigree, AddsKernelsAsIndependentAndFormulasAsOne) {
  const auto use = [](std::uint64_t m, Provenance provenance) {
    return KernelUse{.operation = product(GemmShape{.m = m}),
                     .priced = {.duration = core::Time{50},
                                .provenance = provenance,
                                .relative_error = 0.1},
                     .uses = 2,
                     .ps = 100};
  };
  const std::vector<KernelUse> kernels{use(1, Provenance::measured), use(2, Provenance::measured),
                                       use(3, Provenance::modelled), use(4, Provenance::modelled)};
  const std::array<DeviceKernels, 1> programs{DeviceKernels{10, kernels}};
  const Pedigree pedigree = pedigree_of(programs);
  EXPECT_DOUBLE_EQ(pedigree.total_ps(), 4000);
  EXPECT_DOUBLE_EQ(pedigree.total_ps(Provenance::measured), 2000);
  EXPECT_DOUBLE_EQ(pedigree.total_ps(schema::Operation::GEMM), 4000);
  // 100 and 100 of the kernels, 200 of the formula.
  EXPECT_NEAR(pedigree.relative_error(), std::sqrt(100. * 100 + 100 * 100 + 200 * 200) / 4000,
              1e-12);
}

}  // namespace
}  // namespace exawarp::tests
