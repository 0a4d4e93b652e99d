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
#include <span>

#include "core/names.h"
#include "model/workload/shape.h"

namespace exawarp::model {

enum class Dataflow : std::uint8_t { output_stationary, weight_stationary, input_stationary };

inline constexpr core::Named<Dataflow> kDataflowNames[] = {
    {"output_stationary", Dataflow::output_stationary},
    {"weight_stationary", Dataflow::weight_stationary},
    {"input_stationary", Dataflow::input_stationary}};
constexpr std::span<const core::Named<Dataflow>> names_of(Dataflow) { return kDataflowNames; }
static_assert(core::names_each(kDataflowNames));

constexpr std::uint64_t kSystolicSideMax = 65536;

struct SystolicArray {
  std::uint64_t rows = 128, columns = 128;  // in [1, kSystolicSideMax]
  Dataflow dataflow = Dataflow::weight_stationary;
};

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

// A convolution, as the product that it is computed by.
struct ConvolutionShape {
  std::uint64_t output_pixels = 1;  // of the whole batch
  std::uint64_t filters = 1, kernel_height = 1, kernel_width = 1, channels = 1;
};
GemmShape product_of(const ConvolutionShape& shape);

}  // namespace exawarp::model
