// Rows of kernels with round times, for tests of what is made of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/compute/kernel_table.h"

namespace exawarp::tests {

using KernelRows = std::vector<model::KernelTable::Row>;

// A product that takes 5 us and its FLOPs at 1 TFLOP/s.
inline double product_us(double m, double n, double k) { return 5 + 2e-6 * m * n * k; }

inline KernelRows product_rows() {
  KernelRows rows;
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

inline model::KernelTable products(const KernelRows& rows = product_rows()) {
  return model::KernelTable::from_rows(
      "rows", {.operation = "gemm", .data_type = "bfloat16", .keys = {}, .axes = {"m", "n", "k"}},
      rows);
}

// Of 100 W at m 16, 300 W at m 64, and nothing known at others.
inline KernelRows rows_with_watts() {
  KernelRows rows = product_rows();
  for (model::KernelTable::Row& row : rows) {
    if (row.point[0] == 16) row.watts = 100;
    if (row.point[0] == 64) row.watts = 300;
  }
  return rows;
}

// Of attention: heads, batch and new tokens.
inline model::KernelTable attention_table(const char* operation, std::vector<std::string> keys,
                                          const KernelRows& rows) {
  return model::KernelTable::from_rows("rows",
                                       {.operation = operation,
                                        .data_type = "bfloat16",
                                        .keys = std::move(keys),
                                        .axes = {"heads", "batch", "new_tokens"}},
                                       rows);
}

}  // namespace exawarp::tests
