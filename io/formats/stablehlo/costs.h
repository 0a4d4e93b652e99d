// FLOPs and bytes of one StableHLO operation: the table of docs/guide/stablehlo.md.
#pragma once

#include <cstdint>
#include <string_view>

#include "io/formats/stablehlo/module.h"

namespace exawarp::io::stablehlo {

enum class CostClass : std::uint8_t {
  free,         // constants, tuples, ids: nothing at run time
  elementwise,  // one operation an element; also selects and conversions
  data,         // moves bytes only
  shape,        // moves bytes only, and a fusion takes it in: broadcast, reshape
  reduction,
  matrix,
  convolution,
  unknown,      // no rule: counted as free, and listed
};

struct Cost {
  CostClass kind = CostClass::unknown;
  std::uint64_t flops = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  [[nodiscard]] std::uint64_t bytes() const { return bytes_read + bytes_written; }
};

// Of any operation but calls, loops, branches, fusions and collectives. Throws core::InputError at
// the operation where its attributes do not fit its operands.
Cost cost_of(const Operation& op, const Module& module, const Source& source);

// Sums over a value's tensors.
std::uint64_t bytes_of(const ValueType& type);
std::uint64_t elements_of(const ValueType& type);

}  // namespace exawarp::io::stablehlo
