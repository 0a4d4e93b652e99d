// Systolic arrays: against what SCALE-Sim prints, and against arrays that are stepped here, cycle
// by cycle and register by register.
#include "model/compute/systolic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/error.h"

namespace exawarp::tests {
namespace {

using namespace model;
using Matrix = std::vector<std::vector<long long>>;

Matrix zeros(std::uint64_t rows, std::uint64_t columns) {
  return Matrix(rows, std::vector<long long>(columns, 0));
}

TEST(Systolic, EqualsScaleSim) {
  std::ifstream in(EXAWARP_SOURCE_DIR "/tests/golden/systolic/scale_sim.csv");
  std::string line;
  std::getline(in, line);
  int rows = 0;
  for (; std::getline(in, line); ++rows) {
    SCOPED_TRACE(line);
    std::ranges::replace(line, ',', ' ');
    std::istringstream words(line);
    GemmShape shape;
    SystolicArray array;
    std::string flow;
    std::uint64_t cycles = 0, input_reads = 0, weight_reads = 0;
    double utilisation = 0, mapping = 0;
    words >> shape.m >> shape.n >> shape.k >> flow >> array.rows >> array.columns >> cycles >>
        utilisation >> mapping >> input_reads >> weight_reads;
    ASSERT_TRUE(words);
    array.dataflow = flow == "os"   ? Dataflow::output_stationary
                     : flow == "ws" ? Dataflow::weight_stationary
                                    : Dataflow::input_stationary;
    const SystolicCount count = count_systolic(array, shape);
    EXPECT_EQ(count.cycles, cycles);
    EXPECT_NEAR(100 * count.utilisation, utilisation, 1e-9);
    EXPECT_NEAR(100 * count.mapping_efficiency, mapping, 1e-9);
    EXPECT_EQ(count.input_reads, input_reads);
    EXPECT_EQ(count.weight_reads, weight_reads);
  }
  EXPECT_EQ(rows, 60);
}

// A fold in which partial sums stay: a enters from the left, b from above, each row and column a
// cycle later than the one before. Cycles until the last cell of the array, used or not, has seen
// its last operand.
std::uint64_t step_outputs(const SystolicArray& array, const Matrix& a, const Matrix& b,
                           Matrix& sums) {
  const std::uint64_t depth = b.size();
  Matrix right = zeros(array.rows, array.columns), down = right, seen = right;
  for (std::uint64_t cycle = 0;; ++cycle) {
    for (std::uint64_t r = array.rows; r-- > 0;) {
      for (std::uint64_t c = array.columns; c-- > 0;) {
        const std::uint64_t row_step = cycle - r, column_step = cycle - c;
        right[r][c] = c > 0 ? right[r][c - 1]
                            : (cycle >= r && row_step < depth && r < a.size() ? a[r][row_step] : 0);
        down[r][c] =
            r > 0 ? down[r - 1][c]
                  : (cycle >= c && column_step < depth && c < b[0].size() ? b[column_step][c] : 0);
        if (r < sums.size() && c < sums[0].size()) sums[r][c] += right[r][c] * down[r][c];
        if (cycle >= r + c) ++seen[r][c];
      }
    }
    if (seen.back().back() == static_cast<long long>(depth)) return cycle + 1;
  }
}

// A fold in which `kept` stays: it is shifted in, a row a cycle; then `streamed` enters from the
// left and sums move down. Cycles until the last sum has left the array.
std::uint64_t step_kept(const SystolicArray& array, const Matrix& kept, const Matrix& streamed,
                        Matrix& sums) {
  Matrix held = zeros(array.rows, array.columns), right = held, sum = held;
  std::uint64_t cycle = 0;
  for (; cycle < array.rows; ++cycle) {
    std::rotate(held.rbegin(), held.rbegin() + 1, held.rend());
    const std::uint64_t row = array.rows - 1 - cycle;
    for (std::uint64_t c = 0; c < array.columns; ++c) {
      held[0][c] = row < kept.size() && c < kept[0].size() ? kept[row][c] : 0;
    }
  }
  const std::uint64_t count = streamed.size();
  for (std::uint64_t left = 0, step = 0; left < count; ++step, ++cycle) {
    for (std::uint64_t r = array.rows; r-- > 0;) {
      for (std::uint64_t c = array.columns; c-- > 0;) {
        const bool enters = step >= r && step - r < count && r < kept.size();
        right[r][c] = c > 0 ? right[r][c - 1] : (enters ? streamed[step - r][r] : 0);
        sum[r][c] = (r > 0 ? sum[r - 1][c] : 0) + held[r][c] * right[r][c];
      }
    }
    for (std::uint64_t c = 0; c < array.columns; ++c) {
      if (step < array.rows - 1 + c) continue;
      const std::uint64_t t = step - (array.rows - 1) - c;
      if (t < count && c < sums[0].size()) sums[t][c] += sum[array.rows - 1][c];
      if (c + 1 == array.columns) ++left;
    }
  }
  return cycle;
}

Matrix part(const Matrix& of, std::uint64_t row, std::uint64_t rows, std::uint64_t column,
            std::uint64_t columns) {
  Matrix out;
  for (std::uint64_t r = row; r < std::min<std::uint64_t>(of.size(), row + rows); ++r) {
    const auto end = std::min<std::uint64_t>(of[r].size(), column + columns);
    out.emplace_back(of[r].begin() + static_cast<std::ptrdiff_t>(column),
                     of[r].begin() + static_cast<std::ptrdiff_t>(end));
  }
  return out;
}

Matrix transposed(const Matrix& of) {
  Matrix out = zeros(of[0].size(), of.size());
  for (std::uint64_t r = 0; r < of.size(); ++r) {
    for (std::uint64_t c = 0; c < of[0].size(); ++c) out[c][r] = of[r][c];
  }
  return out;
}

void add(Matrix& to, const Matrix& sums, std::uint64_t row, std::uint64_t column) {
  for (std::uint64_t r = 0; r < sums.size(); ++r) {
    for (std::uint64_t c = 0; c < sums[0].size(); ++c) to[row + r][column + c] += sums[r][c];
  }
}

// The product on the stepped array, fold by fold; its cycles.
std::uint64_t stepped(const SystolicArray& array, const Matrix& a, const Matrix& b, Matrix& out) {
  if (array.dataflow == Dataflow::input_stationary) {  // (a b) = (b' a')'
    SystolicArray mirrored = array;
    mirrored.dataflow = Dataflow::weight_stationary;
    Matrix turned = transposed(out);
    const std::uint64_t cycles = stepped(mirrored, transposed(b), transposed(a), turned);
    out = transposed(turned);
    return cycles;
  }
  const bool outputs = array.dataflow == Dataflow::output_stationary;
  const std::uint64_t depth = b.size(), down = outputs ? a.size() : depth;
  std::uint64_t cycles = 0;
  for (std::uint64_t r = 0; r < down; r += array.rows) {
    for (std::uint64_t c = 0; c < b[0].size(); c += array.columns) {
      const Matrix right =
          outputs ? part(b, 0, depth, c, array.columns) : part(b, r, array.rows, c, array.columns);
      const Matrix left =
          outputs ? part(a, r, array.rows, 0, depth) : part(a, 0, a.size(), r, array.rows);
      Matrix sums = zeros(left.size(), right[0].size());
      cycles +=
          outputs ? step_outputs(array, left, right, sums) : step_kept(array, right, left, sums);
      add(out, sums, outputs ? r : 0, c);
    }
  }
  return cycles;
}

TEST(Systolic, EqualsSteppedArrays) {
  std::uint64_t random = 1;
  const auto up_to = [&random](std::uint64_t most) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    return 1 + (random >> 33U) % most;
  };
  for (int trial = 0; trial < 300; ++trial) {
    const SystolicArray array{
        .rows = up_to(5), .columns = up_to(5), .dataflow = static_cast<Dataflow>(trial % 3)};
    const GemmShape s{.m = up_to(11), .n = up_to(11), .k = up_to(11)};
    Matrix a = zeros(s.m, s.k), b = zeros(s.k, s.n), expected = zeros(s.m, s.n), out = expected;
    for (auto* matrix : {&a, &b}) {
      for (auto& row : *matrix) {
        for (auto& value : row) value = static_cast<long long>(up_to(100));
      }
    }
    for (std::uint64_t r = 0; r < s.m; ++r) {
      for (std::uint64_t c = 0; c < s.n; ++c) {
        for (std::uint64_t i = 0; i < s.k; ++i) expected[r][c] += a[r][i] * b[i][c];
      }
    }
    const std::uint64_t cycles = stepped(array, a, b, out);
    SCOPED_TRACE(testing::Message() << array.rows << "x" << array.columns << " flow " << trial % 3
                                    << ": " << s.m << " " << s.n << " " << s.k);
    ASSERT_EQ(out, expected);  // so what is counted is a product
    ASSERT_EQ(count_systolic(array, s).cycles, cycles - 1);
  }
}

TEST(Systolic, WaitsForMemoryMoreWithLessOfIt) {
  const SystolicArray array{.rows = 32, .columns = 32, .dataflow = Dataflow::output_stationary};
  const GemmShape shape{.m = 128, .n = 128, .k = 128};
  SystolicMemory memory{.bytes_per_cycle = 10, .sram_bytes = 8 * 1024, .element_bytes = 1};
  // 16 folds of 190 cycles, each of 32 * 32 + 128 * 64 bytes.
  EXPECT_NEAR(systolic_stall_cycles(array, shape, memory), 16 * (921.6 - 190), 1e-6);
  memory.sram_bytes = 1024 * 1024;  // 49,152 bytes, 307.2 cycles a fold
  EXPECT_NEAR(systolic_stall_cycles(array, shape, memory), 16 * (307.2 - 190), 1e-6);
  memory.bytes_per_cycle = 100;
  EXPECT_EQ(systolic_stall_cycles(array, shape, memory), 0);
}

TEST(Systolic, StallsOfEdgesAreTheirOwn) {
  const SystolicArray array{.rows = 4, .columns = 4, .dataflow = Dataflow::weight_stationary};
  const GemmShape shape{.m = 10, .n = 5, .k = 6};  // folds of 4x4, 4x1, 2x4, 2x1; 20 cycles each
  const SystolicMemory memory{.bytes_per_cycle = 2, .sram_bytes = 0, .element_bytes = 1};
  EXPECT_NEAR(systolic_stall_cycles(array, shape, memory),
              (96 / 2.0 - 20) + (54 / 2.0 - 20) + (68 / 2.0 - 20) + 0, 1e-9);
}

TEST(Systolic, ConvolutionsAreProducts) {
  EXPECT_EQ(product_of({.output_pixels = 3136,
                        .filters = 64,
                        .kernel_height = 3,
                        .kernel_width = 5,
                        .channels = 16}),
            (GemmShape{.m = 3136, .n = 64, .k = 240}));
}

TEST(Systolic, RefusesCountsBeyond64Bits) {
  const std::uint64_t large = kShapeSizeMax - 1;
  const SystolicArray one{.rows = 1, .columns = 1, .dataflow = Dataflow::output_stationary};
  EXPECT_THROW((void)count_systolic(one, {.m = large, .n = large, .k = large}), core::InputError);
}

}  // namespace
}  // namespace exawarp::tests
