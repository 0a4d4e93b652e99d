// Folds of a product over the array, and the cycles of each; the closed forms are SCALE-Sim's.
#include "model/compute/systolic.h"

#include <algorithm>
#include <array>
#include <cmath>
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

std::uint64_t systolic_cycles(const SystolicUnit& unit, const GemmShape& s) {
  const Mapping map = model::map(unit.array, s);
  const std::uint64_t all =
      product({s.batch, folds(map.down, unit.array.rows), folds(map.across, unit.array.columns)});
  const bool outputs = unit.array.dataflow == Dataflow::output_stationary;
  const std::uint64_t pieces = outputs ? 1 : std::max<std::uint64_t>(1, unit.arrays / all);
  return product({folds(all, unit.arrays), folds(map.streamed, pieces) + map.fill}) - 1;
}

double systolic_bytes(const SystolicUnit& unit, const GemmShape& s, const SystolicMemory& memory) {
  const Mapping map = model::map(unit.array, s);
  const double down = as_double(folds(map.down, unit.array.rows));
  const double across = as_double(folds(map.across, unit.array.columns));
  const double held = as_double(map.down) * as_double(map.across);
  const double streamed = as_double(map.streamed);
  // What stays passes once; of what streams, rows pass every column of folds and columns every row.
  double least = held + streamed * (as_double(map.down) * across + as_double(map.across) * down);
  std::array<double, 3> sizes{held, streamed * as_double(map.down),
                              streamed * as_double(map.across)};
  std::ranges::sort(sizes);
  const double half = as_double(memory.sram_bytes) / (2 * memory.element_bytes);
  for (std::size_t kept = 0; kept < sizes.size() && half > 0; ++kept) {
    const double smaller = sizes[kept == 0 ? 1 : 0], larger = sizes[kept == 2 ? 1 : 2];
    least = std::min(least, sizes[kept] + larger + std::ceil(sizes[kept] / half) * smaller);
  }
  return memory.element_bytes * least * as_double(s.batch);
}

double systolic_fill_cycles(const SystolicUnit& unit, const GemmShape& s,
                            const SystolicMemory& memory) {
  const Mapping map = model::map(unit.array, s);
  const double down = as_double(std::min(map.down, unit.array.rows));
  const double across = as_double(std::min(map.across, unit.array.columns));
  const bool outputs = unit.array.dataflow == Dataflow::output_stationary;
  const double busy =
      std::min(as_double(unit.arrays), as_double(folds(map.down, unit.array.rows)) *
                                           as_double(folds(map.across, unit.array.columns)) *
                                           as_double(s.batch));
  const double elements = outputs ? down + across : down * across;
  return busy * elements * memory.element_bytes / memory.bytes_per_cycle;
}

GemmShape product_of(const ConvolutionShape& s) {
  return {.m = s.output_pixels,
          .n = s.filters,
          .k = product({s.kernel_height, s.kernel_width, s.channels})};
}

}  // namespace exawarp::model
