// Folds of a product over the array, and the cycles of each; the closed forms are SCALE-Sim's.
#include "model/compute/systolic.h"

#include <algorithm>
#include <initializer_list>

#include "core/error.h"

namespace exawarp::model {
namespace {

struct Mapping {
  std::uint64_t down, across, streamed, fill;
};

Mapping map(const SystolicArray& array, const GemmShape& s) {
  const std::uint64_t loaded = 2 * array.rows + array.columns - 2;
  switch (array.dataflow) {
    case Dataflow::output_stationary:
      return {s.m, s.n, s.k, array.rows + array.columns - 2};
    case Dataflow::weight_stationary:
      return {s.k, s.n, s.m, loaded};
    case Dataflow::input_stationary:
      break;
  }
  return {s.k, s.m, s.n, loaded};
}

std::uint64_t folds(std::uint64_t size, std::uint64_t side) {
  return size / side + (size % side == 0 ? 0 : 1);
}

std::uint64_t product(std::initializer_list<std::uint64_t> factors) {
  std::uint64_t out = 1;
  for (const std::uint64_t factor : factors) {
    if (__builtin_mul_overflow(out, factor, &out)) {
      throw core::InputError("has a product that takes 2^64 cycles or more on its systolic array");
    }
  }
  return out;
}

double as_double(std::uint64_t value) { return static_cast<double>(value); }

}  // namespace

SystolicCount count_systolic(const SystolicArray& array, const GemmShape& s) {
  const Mapping map = model::map(array, s);
  const std::uint64_t down = folds(map.down, array.rows);
  const std::uint64_t across = folds(map.across, array.columns);
  SystolicCount out;
  out.folds = product({down, across});
  out.cycles = product({out.folds, map.streamed + map.fill}) - 1;
  const double cells = as_double(array.rows) * as_double(array.columns);
  // One cell and one product take no cycle by the index of the last one.
  out.utilisation = as_double(s.m) * as_double(s.n) * as_double(s.k) /
                    (as_double(std::max<std::uint64_t>(out.cycles, 1)) * cells);
  out.mapping_efficiency =
      as_double(map.down) * as_double(map.across) / (as_double(out.folds) * cells);
  out.input_reads = product({s.m, s.k});
  out.weight_reads = product({s.k, s.n});
  // The operand that stays is read once; a streamed one, once for each row or column of folds.
  if (array.dataflow != Dataflow::input_stationary) {
    out.input_reads = product({out.input_reads, across});
  }
  if (array.dataflow != Dataflow::weight_stationary) {
    const bool outputs = array.dataflow == Dataflow::output_stationary;
    out.weight_reads = product({out.weight_reads, outputs ? down : across});
  }
  return out;
}

double systolic_stall_cycles(const SystolicArray& array, const GemmShape& s,
                             const SystolicMemory& memory) {
  const Mapping map = model::map(array, s);
  const double own = as_double(map.streamed) + as_double(map.fill);
  const double total =
      memory.element_bytes * (as_double(s.m) * as_double(s.k) + as_double(s.k) * as_double(s.n) +
                              as_double(s.m) * as_double(s.n));
  const auto stall = [&](double bytes) {
    return std::max(0.0, bytes / memory.bytes_per_cycle - own);
  };
  const std::uint64_t down = map.down / array.rows, across = map.across / array.columns;
  const std::uint64_t rest_down = map.down % array.rows, rest_across = map.across % array.columns;
  if (2 * total <= as_double(memory.sram_bytes)) {
    const double count =
        as_double(folds(map.down, array.rows)) * as_double(folds(map.across, array.columns));
    return count * stall(total / count);
  }
  // Folds of four sizes: whole ones, and those at the two edges and the corner.
  const auto of = [&](std::uint64_t count, std::uint64_t rows, std::uint64_t columns) {
    if (count == 0 || rows == 0 || columns == 0) return 0.0;
    const double elements = as_double(rows) * as_double(columns) +
                            as_double(map.streamed) * (as_double(rows) + as_double(columns));
    return as_double(count) * stall(memory.element_bytes * elements);
  };
  return of(product({down, across}), array.rows, array.columns) +
         of(across, rest_down, array.columns) + of(down, array.rows, rest_across) +
         of(1, rest_down, rest_across);
}

GemmShape product_of(const ConvolutionShape& s) {
  return {.m = s.output_pixels,
          .n = s.filters,
          .k = product({s.kernel_height, s.kernel_width, s.channels})};
}

}  // namespace exawarp::model
