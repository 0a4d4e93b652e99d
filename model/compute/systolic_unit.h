// The systolic arrays of an accelerator: constants of the compute model (systolic_model.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/names.h"
#include "core/time.h"

namespace exawarp::model {

// What stays in the cells while the other operand streams past.
enum class Dataflow : std::uint8_t { output_stationary, weight_stationary, input_stationary };

inline constexpr core::Named<Dataflow> kDataflowNames[] = {{"output", Dataflow::output_stationary},
                                                           {"weight", Dataflow::weight_stationary},
                                                           {"input", Dataflow::input_stationary}};
constexpr std::span<const core::Named<Dataflow>> names_of(Dataflow) { return kDataflowNames; }
static_assert(core::names_each(kDataflowNames));

constexpr std::uint64_t kSystolicSideMax = 65536;
constexpr std::uint32_t kSystolicArraysMax = 65536;

struct SystolicArray {
  std::uint64_t rows = 128, columns = 128;  // in [1, kSystolicSideMax]
  Dataflow dataflow = Dataflow::weight_stationary;
};

// A line fitted to measured products of a class of shapes: from the cycles of one array, as
// SCALE-Sim counts them, to the time on the device.
struct CycleMap {
  std::uint64_t size_max = ~std::uint64_t{0};  // of m, n and k
  double ns_per_cycle = 0;                     // > 0
  core::Time intercept;
};

struct SystolicUnit {
  SystolicArray array;
  std::uint32_t arrays = 1;     // of the accelerator, in [1, kSystolicArraysMax]
  std::int64_t clock_hz = 0;    // > 0; at the matrix rate of bf16, or of fp16 without it
  std::int64_t sram_bytes = 0;  // on chip, of all arrays; half of it is filled while one works
  // By size_max, ascending, the last for all that is larger; none: cycles take what the clock says.
  std::vector<CycleMap> cycles_to_time = {};
};

}  // namespace exawarp::model
