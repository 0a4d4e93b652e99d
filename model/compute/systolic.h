// Cycles of a matrix product on a systolic array, in closed form: what SCALE-Sim v3 counts where
// memory never stalls it (tests/golden/systolic), and a stall term of its own.
//
// A product (m x k) times (k x n) is cut into folds of at most rows x columns cells. A fold takes
// as many cycles as operands stream past it, and those in which the array fills and drains; one
// that does not use all cells takes as long as one that does.
//
//   dataflow            rows hold   columns hold   streamed   fill and drain
//   output_stationary   m           n              k          rows + columns - 2
//   weight_stationary   k           n              m          2 rows + columns - 2
//   input_stationary    k           m              n          2 rows + columns - 2
//
//   cycles = folds * (streamed + fill) - 1    the index of the last one, as SCALE-Sim prints it
#pragma once

#include <cstdint>

#include "model/compute/systolic_unit.h"
#include "model/workload/shape.h"

namespace exawarp::model {

struct SystolicCount {
  std::uint64_t folds = 0;
  std::uint64_t cycles = 0;
  double utilisation = 0;          // products done / (cycles * cells)
  double mapping_efficiency = 0;   // cells used, on average over folds
  std::uint64_t input_reads = 0;   // elements of the (m x k) operand that the array reads
  std::uint64_t weight_reads = 0;  // of the (k x n) one
};

// Of one product of a batch: `shape.batch` is not read. Throws core::InputError, without a place,
// where a count does not fit 64 bits.
SystolicCount count_systolic(const SystolicArray& array, const GemmShape& shape);

// Cycles of `shape.batch` products on all arrays of `unit`, until the last one is done. Folds are
// dealt out whole. Where there are fewer than arrays, what streams past them is cut evenly among
// the arrays of a fold, unless outputs stay, which would have to be added up. One product on one
// array takes what count_systolic() says. Throws as that does.
std::uint64_t systolic_cycles(const SystolicUnit& unit, const GemmShape& shape);

// Cycles that folds wait for their operands: for each, what moving its bytes (both operands and its
// part of the result) takes beyond its own cycles, max(0, bytes / bandwidth - cycles). Operands
// that fit half of `sram_bytes` together with the result (the other half is being filled) are moved
// once, and evenly over the folds. A model of Exawarp's, not SCALE-Sim's: that one prefetches
// across folds and counts some stalls twice.
struct SystolicMemory {
  double bytes_per_cycle = 0;  // > 0
  std::uint64_t sram_bytes = 0;
  double element_bytes = 2;
};
double systolic_stall_cycles(const SystolicArray& array, const GemmShape& shape,
                             const SystolicMemory& memory);

// Bytes between memory and the arrays of `unit`, of `shape.batch` products: what folds read and
// write one by one, or less where half of the SRAM (the other half is being filled) keeps an
// operand, the result or a part of one. Of the other two one then passes once for each part that
// fits, the other once:  kept + larger + ceil(kept / half) * smaller,  with the best to keep.
double systolic_bytes(const SystolicUnit& unit, const GemmShape& shape,
                      const SystolicMemory& memory);
// Before the first cycle, on all arrays: until the operand that stays is there, or, where outputs
// stay, the first element of each row and column.
double systolic_fill_cycles(const SystolicUnit& unit, const GemmShape& shape,
                            const SystolicMemory& memory);

// A convolution, as the product that it is computed by.
struct ConvolutionShape {
  std::uint64_t output_pixels = 1;  // of the whole batch
  std::uint64_t filters = 1, kernel_height = 1, kernel_width = 1, channels = 1;
};
GemmShape product_of(const ConvolutionShape& shape);

}  // namespace exawarp::model
