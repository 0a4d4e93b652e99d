// Measured kernels: what a table says at its points, between them and beyond them; files that are
// not sound; and the tables that come with the program, each measured point held against what the
// others say of it.
#include "model/compute/kernel_table.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/error.h"
#include "core/mapped_file.h"
#include "model/compute/compute_models.h"
#include "model/compute/pedigree.h"
#include "model/compute/table_model.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using namespace model;
using Rows = std::vector<KernelTable::Row>;

// A product that takes 5 us and its FLOPs at 1 TFLOP/s.
double product_us(double m, double n, double k) { return 5 + 2e-6 * m * n * k; }

Rows product_rows() {
  Rows rows;
  for (const std::uint32_t m : {16u, 17u, 64u, 65u, 256u}) {
    for (const std::uint32_t n : {64u, 256u, 1024u}) {
      for (const std::uint32_t k : {64u, 128u, 1024u}) {
        const double penalty = m % 16 == 0 ? 1 : 2;
        rows.push_back({{}, {m, n, k}, penalty * product_us(m, n, k)});
      }
    }
  }
  return rows;
}

KernelTable products(const Rows& rows = product_rows()) {
  return KernelTable::from_rows(
      "rows", {.operation = "gemm", .data_type = "bfloat16", .keys = {}, .axes = {"m", "n", "k"}},
      rows);
}

TEST(KernelTable, ReturnsWhatWasMeasuredAtItsPoints) {
  const KernelTable table = products();
  for (const KernelTable::Row& row : product_rows()) {
    const auto e = table.estimate(0, {1.0 * row.point[0], 1.0 * row.point[1], 1.0 * row.point[2]});
    ASSERT_TRUE(e);
    EXPECT_EQ(e->provenance, Provenance::measured);
    EXPECT_NEAR(e->us, row.us, 2e-4 * row.us);
  }
}

TEST(KernelTable, IsExactBetweenPointsWhereTimeGoesWithTheWork) {
  const auto e = products().estimate(0, {32, 512, 512});
  ASSERT_TRUE(e);
  EXPECT_EQ(e->provenance, Provenance::interpolated);
  EXPECT_NEAR(e->us, product_us(32, 512, 512), 1e-3 * e->us);
}

TEST(KernelTable, KeepsUnalignedSizesApart) {
  EXPECT_NEAR(products().estimate(0, {33, 64, 64})->us, 2 * product_us(33, 64, 64), 0.1);
}

TEST(KernelTable, ScalesByTheWorkBeyondItsGrid) {
  const auto e = products().estimate(0, {512, 1024, 2048});
  ASSERT_TRUE(e);
  EXPECT_EQ(e->provenance, Provenance::extrapolated);
  EXPECT_NEAR(e->us, 4 * product_us(256, 1024, 1024), 0.1);
}

TEST(KernelTable, FillsAPointThatWasNotMeasured) {
  Rows rows = product_rows();
  std::erase_if(rows, [](const auto& row) {
    return row.point == std::vector<std::uint32_t>{64, 256, 128};
  });
  const auto e = products(rows).estimate(0, {64, 256, 128});
  ASSERT_TRUE(e);
  EXPECT_EQ(e->provenance, Provenance::interpolated);
  EXPECT_NEAR(e->us, product_us(64, 256, 128), 1e-3 * e->us);
}

TEST(KernelTable, TakesTheFastestOfEqualShapes) {
  Rows rows = product_rows();
  rows.push_back(rows.front());
  rows.back().us /= 2;
  EXPECT_NEAR(products(rows).estimate(0, {16, 64, 64})->us, rows.back().us, 1e-3);
}

// Of 100 W at m 16, 300 W at m 64, and nothing known at others.
Rows rows_with_watts() {
  Rows rows = product_rows();
  for (KernelTable::Row& row : rows) {
    if (row.point[0] == 16) row.watts = 100;
    if (row.point[0] == 64) row.watts = 300;
  }
  return rows;
}

TEST(KernelTable, SaysTheWattsThatWereMeasuredAtItsPoints) {
  const KernelTable table = products(rows_with_watts());
  EXPECT_DOUBLE_EQ(table.estimate(0, {16, 256, 128})->watts, 100);
  EXPECT_DOUBLE_EQ(table.estimate(0, {64, 1024, 1024})->watts, 300);
  EXPECT_EQ(table.estimate(0, {17, 256, 128})->watts, 0);
  EXPECT_EQ(products().estimate(0, {16, 256, 128})->watts, 0);
}

TEST(KernelTable, InterpolatesWattsAmongThePointsThatHaveThem) {
  const KernelTable table = products(rows_with_watts());
  EXPECT_NEAR(table.estimate(0, {32, 512, 512})->watts, 100 + 200.0 * 16 / 48, 0.1);
  EXPECT_DOUBLE_EQ(table.estimate(0, {128, 512, 512})->watts, 300) << "256 has none";
  EXPECT_DOUBLE_EQ(table.estimate(0, {64, 256, 4096})->watts, 300) << "beyond the grid";
}

TEST(KernelTable, FillsTheWattsOfAPointThatWasNotMeasured) {
  Rows rows = rows_with_watts();
  std::erase_if(rows, [](const auto& row) {
    return row.point == std::vector<std::uint32_t>{64, 256, 128};
  });
  EXPECT_DOUBLE_EQ(products(rows).estimate(0, {64, 256, 128})->watts, 300);
}

TEST(KernelTable, TakesTheWattsOfTheFastestRowThatHasAny) {
  Rows rows = rows_with_watts();
  KernelTable::Row slower = rows.front(), fastest = rows.front();
  slower.us *= 2;
  slower.watts = 200;
  fastest.us /= 2;
  fastest.watts = 0;
  rows.push_back(slower);
  rows.push_back(fastest);
  const auto e = products(rows).estimate(0, {16, 64, 64});
  EXPECT_NEAR(e->us, fastest.us, 1e-3);
  EXPECT_DOUBLE_EQ(e->watts, 100);
}

std::string refusal_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const core::InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(KernelTable, RefusesRowsThatAreNotSound) {
  EXPECT_EQ(refusal_of([] { products({}); }), "rows: no measured times; expected at least one");
  EXPECT_EQ(refusal_of([] { products({{{}, {1, 2}, 3}}); }),
            "rows: a row of 0 keys and 2 sizes; expected 0 and 3");
  EXPECT_EQ(refusal_of([] { products({{{}, {1, 0, 3}, 3}}); }),
            "rows: a size of 0; expected 1 or more");
  EXPECT_EQ(refusal_of([] { products({{{}, {1, 2, 3}, -1}}); }),
            "rows: a time out of range: -1 us; expected more than 0, less than 1000000000 us");
  EXPECT_EQ(refusal_of([] { products({{{}, {1, 2, 3}, 1, -5}}); }),
            "rows: a power out of range: -5 W; expected less than 1000000 W");
}

struct BadFile {
  const char* name;
  std::string text, expected;
};

constexpr const char* kHead =
    "exawarp-kernels 1\noperation gemm\ntype bfloat16\naxis m 1 2\naxis n 1\nscale 0 0.0001\n";

class BadKernelFile : public testing::TestWithParam<BadFile> {};

TEST_P(BadKernelFile, IsRefusedInOneLine) {
  EXPECT_EQ(refusal_of([] { KernelTable::parse("f", GetParam().text); }),
            "f:" + GetParam().expected);
}

const std::string kGoodHead = kHead;
INSTANTIATE_TEST_SUITE_P(
    KernelTable, BadKernelFile,
    testing::Values(
        BadFile{"Empty", "", "1: the file ends in its header; expected \"cells\""},
        BadFile{"Foreign", "a,b\n",
                "1: not a kernel table: \"a,b\"; expected \"exawarp-kernels 1\""},
        BadFile{"Unknown", "exawarp-kernels 1\nspeed 3\n",
                "2: unknown line \"speed\"; expected source, licence, derived, operation, type, "
                "keys, axis, scale, watts, slice or cells"},
        BadFile{"Number", "exawarp-kernels 1\naxis m 1 x\n", "2: \"x\"; expected a whole number"},
        BadFile{"Watts", "exawarp-kernels 1\nwatts 100 -1\n",
                "2: watts from 100 in steps of -1; expected more than 0, less than 1000000 W"},
        BadFile{"CellsOfWatts", kGoodHead + "watts 100 1\ncells\nabcd",
                "8: 4 bytes of cells; expected 6"},
        BadFile{"Zero", "exawarp-kernels 1\naxis m 0\n", "2: \"0\"; expected 1 or more"},
        BadFile{"Order", "exawarp-kernels 1\naxis m 2 2\n",
                "2: 2 after 2; expected ascending values"},
        BadFile{"Scale", "exawarp-kernels 1\nscale 0 1e300\n",
                "2: a scale from 0 in steps of 1e+300; expected times of 1e-9 to 1e9 us"},
        BadFile{"NaN", "exawarp-kernels 1\nscale nan 1\n",
                "2: a scale from nan in steps of 1; expected times of 1e-9 to 1e9 us"},
        BadFile{"Short", kGoodHead + "cells\nabc", "7: 3 bytes of cells; expected 4"},
        BadFile{"Slice", kGoodHead + "slice 1\n", "7: 1 values of a key; expected 0"},
        BadFile{"NoAxis", "exawarp-kernels 1\noperation a\ntype b\nscale 0 1e-4\ncells\n",
                "5: no axis; expected at least one"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(KernelTable, RefusesAGridThatIsTooLarge) {
  std::string text = "exawarp-kernels 1\noperation gemm\ntype bfloat16\nscale 0 0.0001\n";
  for (const char* axis : {"m", "n", "k"}) {
    text += fmt::format("axis {}", axis);
    for (int i = 1; i <= 200; ++i) text += fmt::format(" {}", i);
    text += "\n";
  }
  EXPECT_EQ(refusal_of([&] { KernelTable::parse("f", text + "cells\n"); }),
            "f:8: 8000000 cells; expected at most 4194304");
}

// The tables that come with the program.

KernelTable shipped(const std::string& name) {
  const std::string path = std::string(EXAWARP_SOURCE_DIR) + "/configs/kernels/" + name;
  const core::MappedFile file(path);
  return KernelTable::parse(path, {reinterpret_cast<const char*>(file.bytes().data()),
                                   file.bytes().size()});
}

double tflops(const KernelTable& table, double m, double n, double k) {
  const auto e = table.estimate(0, {m, n, k});
  EXPECT_EQ(e->provenance, Provenance::measured);
  return 2e-6 * m * n * k / e->us;
}

TEST(ShippedKernels, SayWhatWasMeasured) {
  EXPECT_NEAR(tflops(shipped("h100_sxm/gemm_bfloat16.xkt"), 8192, 8192, 8192), 713, 1);
  EXPECT_NEAR(tflops(shipped("h100_sxm/gemm_fp8.xkt"), 4096, 2048, 16384), 808, 1);
}

// From the recorded rows; a level is 2.1 W on H200, 3.7 W on GB200.
TEST(ShippedKernels, SayWhichWattsWereMeasured) {
  const KernelTable gemm = shipped("h200_sxm/gemm_bfloat16.xkt");
  EXPECT_NEAR(gemm.estimate(0, {8192, 8192, 8192})->watts, 691, 1.1);
  EXPECT_NEAR(gemm.estimate(0, {4096, 4096, 4096})->watts, 692, 1.1);
  EXPECT_NEAR(gemm.estimate(0, {1, 65536, 8192})->watts, 458, 1.1);
  EXPECT_EQ(gemm.estimate(0, {256, 4096, 4096})->watts, 0) << "of 18 us";
  const KernelTable prefill = shipped("h200_sxm/prefill_bfloat16.xkt");
  EXPECT_NEAR(prefill.estimate(*prefill.slice_of(std::vector<std::uint32_t>{128, 0, 8}),
                               {32, 1, 8192})->watts,
              611, 1.2);
  EXPECT_NEAR(shipped("gb200/gemm_bfloat16.xkt").estimate(0, {8192, 8192, 8192})->watts, 782, 1.9);
  EXPECT_EQ(shipped("h100_sxm/gemm_bfloat16.xkt").estimate(0, {8192, 8192, 8192})->watts, 0);
}

struct Errors {
  std::vector<double> all;
  [[nodiscard]] double at(double share) {
    if (all.empty()) return 0;
    const auto place =
        all.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(all.size() - 1));
    std::ranges::nth_element(all, place);
    return *place;
  }
  void add(const KernelTable& table, std::size_t slice, std::size_t cell, const HeldOut& held) {
    const double us = table.measured_us(slice, cell);
    if (us == 0) return;
    const auto e = table.estimate(slice, table.point_of(cell), held);
    if (e && e->provenance == Provenance::interpolated) all.push_back(std::abs(e->us / us - 1));
  }
};

// Watts of every fifth point that has any, each left out.
TEST(ShippedKernels, InterpolateWatts) {
  struct Known {
    const char* name;
    double median_max;
  };
  for (const auto& [name, median_max] :
       {Known{"h200_sxm/gemm_bfloat16.xkt", 0.03}, Known{"b200_sxm/gemm_bfloat16.xkt", 0.03},
        Known{"gb200/gemm_bfloat16.xkt", 0.03}, Known{"h200_sxm/prefill_bfloat16.xkt", 0.12},
        Known{"h200_sxm/decode_bfloat16.xkt", 0.15}}) {
    const KernelTable table = shipped(name);
    Errors errors;
    for (std::size_t slice = 0; slice < table.slice_count(); ++slice) {
      for (std::size_t cell = 0; cell < table.cells_of_slice(); ++cell) {
        const double watts = table.measured_watts(slice, cell);
        if (watts == 0 || cell * 2654435761u % 5 != 0) continue;
        const auto e = table.estimate(slice, table.point_of(cell), {.cell = cell});
        if (e && e->watts > 0 && e->provenance == Provenance::interpolated) {
          errors.all.push_back(std::abs(e->watts / watts - 1));
        }
      }
    }
    fmt::print("{:34} {:7} {:7.2f} {:7.2f}\n", name, errors.all.size(), 100 * errors.at(0.5),
               100 * errors.at(0.95));
    EXPECT_GT(errors.all.size(), 300u) << name;
    EXPECT_LT(errors.at(0.5), median_max) << name;
  }
}

// Every tenth point, each by itself; and each inner value of the last axis, all its points at once.
TEST(ShippedKernels, HoldOut) {
  const std::string folder = std::string(EXAWARP_SOURCE_DIR) + "/configs/kernels";
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".xkt") {
      names.push_back(std::filesystem::relative(entry.path(), folder).string());
    }
  }
  std::ranges::sort(names);
  ASSERT_FALSE(names.empty());
  fmt::print("{:34} {:>7} {:>7} {:>7} | {:>9} {:>7}\n", "left out: every tenth point", "points",
             "median", "p95", "one value", "p95");
  for (const std::string& name : names) {
    const KernelTable table = shipped(name);
    Errors tenth, plane;
    for (std::size_t s = 0; s < table.slice_count(); ++s) {
      const std::size_t last = table.layout().axes.size() - 1;
      for (std::size_t cell = 0; cell < table.cells_of_slice(); ++cell) {
        if (cell * 2654435761u % 10 == 0) tenth.add(table, s, cell, {.cell = cell});
        if (cell * 2654435761u % 13 == 0) {
          plane.add(table, s, cell,
                    {.axis = last, .value = cell % table.values(last).size()});
        }
      }
    }
    fmt::print("{:34} {:7} {:7.2f} {:7.2f} | {:9.2f} {:7.2f}\n", name, tenth.all.size(),
               100 * tenth.at(0.5), 100 * tenth.at(0.95), 100 * plane.at(0.5),
               100 * plane.at(0.95));
    EXPECT_LT(tenth.at(0.5), 0.10) << name;
  }
}

// The compute model, on a table whose products take 5 us and their FLOPs at 1 TFLOP/s.

KernelTable attention_table(const char* operation, std::vector<std::string> keys,
                            const Rows& rows) {
  return KernelTable::from_rows("rows",
                                {.operation = operation,
                                 .data_type = "bfloat16",
                                 .keys = std::move(keys),
                                 .axes = {"heads", "batch", "new_tokens"}},
                                rows);
}

struct Tabled {
  Accelerator accelerator = tests::round_accelerator();
  Tabled() {
    auto tables = std::make_shared<KernelTables>("");
    tables->add(products());
    Rows rows;
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
  const AttentionShape backward{.new_tokens = 1024,
                                .heads = 8,
                                .key_value_heads = 8,
                                .head_dim = 128,
                                .value_dim = 128,
                                .causal = true,
                                .backward = true};
  ComputeOperation attention = product(backward);
  attention.operation = schema::Operation::ATTENTION;
  EXPECT_DOUBLE_EQ(tabled.price(attention).watts, 400);
  EXPECT_EQ(tabled.price(attention).provenance, Provenance::derived);
  EXPECT_EQ(tabled.price(product({})).watts, 0);
}

TEST(TableModel, TakesWattsOfThePowerTablesFirst) {
  Tabled tabled;
  auto elsewhere = std::make_shared<KernelTables>("");
  Rows rows = rows_with_watts();
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
  AttentionShape shape{.new_tokens = 1024,
                       .heads = 8,
                       .key_value_heads = 8,
                       .head_dim = 128,
                       .value_dim = 128,
                       .causal = true};
  ComputeOperation core = product(shape);
  core.operation = schema::Operation::ATTENTION;
  const Priced forward = tabled.price(core);
  EXPECT_EQ(forward.provenance, Provenance::measured);
  shape.backward = true;
  core.shape = shape;
  const Priced backward = tabled.price(core);
  EXPECT_EQ(backward.provenance, Provenance::derived);
  EXPECT_NEAR(static_cast<double>(backward.duration.ps),
              2.5 * static_cast<double>(forward.duration.ps), 10);
}

// The shapes of a table of backward passes, whose times are `factor` times the work.
KernelTable backward_passes(const char* operation, std::vector<std::string> keys,
                            std::vector<std::uint32_t> key, double factor) {
  Rows rows;
  for (const std::uint32_t tokens : {1024u, 4096u}) {
    rows.push_back({key, {8, 1, tokens}, factor * 8 * tokens * tokens});
  }
  return attention_table(operation, std::move(keys), rows);
}

ComputeOperation attention_backward(std::uint64_t head_dim, std::uint64_t window = 0) {
  ComputeOperation core = product(AttentionShape{.new_tokens = 1024,
                                                 .heads = 8,
                                                 .key_value_heads = 8,
                                                 .head_dim = head_dim,
                                                 .value_dim = 128,
                                                 .window = window,
                                                 .causal = true,
                                                 .backward = true});
  core.operation = schema::Operation::ATTENTION;
  return core;
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
