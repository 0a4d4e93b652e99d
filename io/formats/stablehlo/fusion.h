// Joins chains of cheap operations to kernels, as a compiler would: docs/guide/stablehlo.md,
// "fusion".
#pragma once

#include <cstdint>
#include <vector>

#include "io/formats/stablehlo/program.h"

namespace exawarp::io::stablehlo {

// What a device launches, or a collective.
struct Kernel {
  std::vector<std::uint32_t> steps;      // of the program, ascending; one, for a collective
  std::vector<std::uint32_t> inputs;     // kernels it waits for, ascending
  std::uint64_t flops = 0, bytes_read = 0, bytes_written = 0;
};

// In an order in which each kernel follows those it waits for. With `fuse`, elementwise operations,
// broadcasts and reshapes join the kernels of what they read, and reductions end a kernel; every
// other step is a kernel of its own. Costs: FLOPs are the sum; bytes what the kernel reads from
// outside, once each, and what is used outside.
std::vector<Kernel> kernels_of(const Program& program, bool fuse);

}  // namespace exawarp::io::stablehlo
