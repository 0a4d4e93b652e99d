// Products on the accelerator's systolic arrays as a compute model: matrix products, convolutions
// and attention cores whose shape is known.
//
//   cycles = first fill + max(array cycles, bytes / bytes a cycle)
//   t      = launch + cycles / clock,  or the accelerator's line from cycles to times
//
// Array cycles, bytes and fill are systolic.h's. SRAM is double-buffered: while folds run from one
// half the operands of the next ones come into the other, so that the longer of the two counts
// (what memory adds is a stall); before the first operand is there nothing runs. Bandwidth is times
// the memory efficiency of the kind of operation; its compute efficiency is not used, as what the
// array wastes is counted. The clock is that of bf16: types that the matrix units run at another
// rate take cycles in proportion.
//
// Attention is its two products, one pair a head and sequence, and, backward, five: scores again
// and the gradients of values, weights, queries and keys. Where it is causal a query sees half of
// the new tokens on average. Scores stay on chip, so its memory is what the node reads and writes.
// The vector unit's part of it, the softmax, is taken to be hidden.
//
// A line is from the cycles of one array. It was fitted to measured times, which hold whatever they
// waited for: no fill, no stalls, no other arrays and no launch come to it.
#pragma once

#include "model/compute/accelerator.h"
#include "model/compute/compute_model.h"
#include "model/compute/systolic.h"

namespace exawarp::model {

class SystolicModel final : public ComputeModel {
 public:
  // Both outlive it.
  SystolicModel(const Accelerator& accelerator, const SystolicUnit& unit)
      : accelerator_(accelerator), unit_(unit) {}
  // None also for data types that the matrix units do not offer.
  [[nodiscard]] std::optional<Priced> price(const ComputeOperation& operation) const override;

 private:
  const Accelerator& accelerator_;
  const SystolicUnit& unit_;
};

struct SystolicCycles {
  double array = 0, fill = 0;
  double stall = 0;  // waiting for memory beyond the array's own cycles
  [[nodiscard]] double all() const { return array + stall + fill; }
};

// Of matrix products. Throws as count_systolic().
SystolicCycles systolic_cycles(const SystolicUnit& unit, const GemmShape& shape,
                               const SystolicMemory& memory);
// Of the products of an attention core that moves `bytes`.
SystolicCycles systolic_cycles(const SystolicUnit& unit, const AttentionShape& shape,
                               const SystolicMemory& memory, std::uint64_t bytes);

// The clock at which products of `type` take those cycles; 0: not offered.
double systolic_clock_hz(const Accelerator& accelerator, const SystolicUnit& unit,
                         schema::DataType type);
// What the accelerator's memory gives operations of this kind. Requires a clock above 0.
SystolicMemory systolic_memory(const Accelerator& accelerator, const SystolicUnit& unit,
                               schema::Operation operation, schema::DataType type);

// Picoseconds of matrix products by the unit's lines. Requires some.
double systolic_line_ps(const SystolicUnit& unit, const GemmShape& shape);

}  // namespace exawarp::model
