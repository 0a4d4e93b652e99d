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
#include "tests/support/kernel_rows.h"

namespace exawarp::tests {
namespace {

using namespace model;

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

TEST(KernelTable, BelowItsGridTimeFallsWithHeadsAlone) {
  const KernelTable table =
      attention_table("prefill", {}, {{{}, {8, 1, 1024}, 100}, {{}, {16, 1, 1024}, 190}});
  const auto fewer_heads = table.estimate(0, {4, 1, 1024});
  ASSERT_TRUE(fewer_heads);
  EXPECT_EQ(fewer_heads->provenance, Provenance::extrapolated);
  EXPECT_NEAR(fewer_heads->us, 50, 0.1);
  EXPECT_NEAR(table.estimate(0, {8, 1, 512})->us, 100, 0.1) << "tokens";
}

TEST(KernelTable, FillsAPointThatWasNotMeasured) {
  KernelRows rows = product_rows();
  std::erase_if(rows, [](const auto& row) {
    return row.point == std::vector<std::uint32_t>{64, 256, 128};
  });
  const auto e = products(rows).estimate(0, {64, 256, 128});
  ASSERT_TRUE(e);
  EXPECT_EQ(e->provenance, Provenance::interpolated);
  EXPECT_NEAR(e->us, product_us(64, 256, 128), 1e-3 * e->us);
}

TEST(KernelTable, TakesTheFastestOfEqualShapes) {
  KernelRows rows = product_rows();
  rows.push_back(rows.front());
  rows.back().us /= 2;
  EXPECT_NEAR(products(rows).estimate(0, {16, 64, 64})->us, rows.back().us, 1e-3);
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
  KernelRows rows = rows_with_watts();
  std::erase_if(rows, [](const auto& row) {
    return row.point == std::vector<std::uint32_t>{64, 256, 128};
  });
  EXPECT_DOUBLE_EQ(products(rows).estimate(0, {64, 256, 128})->watts, 300);
}

TEST(KernelTable, TakesTheWattsOfTheFastestRowThatHasAny) {
  KernelRows rows = rows_with_watts();
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

}  // namespace
}  // namespace exawarp::tests
