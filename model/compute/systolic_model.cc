#include "model/compute/systolic_model.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/error.h"
#include "model/generate/spec.h"

namespace exawarp::model {
namespace {

// No TPU was measured for it: as the roofline's.
constexpr double kSystolicError = 0.15;

double counted(std::uint64_t value) { return static_cast<double>(value); }

double rate_of(const Accelerator& accelerator, schema::DataType type) {
  return accelerator.matrix_flops_per_s.at(static_cast<std::size_t>(type));
}

// Keys that a query sees, on average, at least one.
std::uint64_t seen(const AttentionShape& s) {
  const std::uint64_t fresh = s.causal ? s.new_tokens / 2 + s.new_tokens % 2 : s.new_tokens;
  const std::uint64_t all = s.past_tokens + fresh;
  return s.window == 0 ? all : std::min(all, s.window);
}

std::vector<GemmShape> products_of(const AttentionShape& s) {
  const std::uint64_t keys = seen(s);
  std::uint64_t batch = 0;
  if (__builtin_mul_overflow(s.batch, s.heads, &batch)) {
    throw core::InputError("has 2^64 heads in all sequences, or more");
  }
  const GemmShape scores{.m = s.new_tokens, .n = keys, .k = s.head_dim, .batch = batch};
  const GemmShape values{.m = s.new_tokens, .n = s.value_dim, .k = keys, .batch = batch};
  if (!s.backward) return {scores, values};
  return {scores,
          {.m = keys, .n = s.value_dim, .k = s.new_tokens, .batch = batch},
          {.m = s.new_tokens, .n = keys, .k = s.value_dim, .batch = batch},
          {.m = s.new_tokens, .n = s.head_dim, .k = keys, .batch = batch},
          {.m = keys, .n = s.head_dim, .k = s.new_tokens, .batch = batch}};
}

SystolicCycles with_memory(SystolicCycles cycles, double bytes, const SystolicMemory& memory) {
  cycles.stall = std::max(0.0, bytes / memory.bytes_per_cycle - cycles.array);
  return cycles;
}

}  // namespace

SystolicCycles systolic_cycles(const SystolicUnit& unit, const GemmShape& shape,
                               const SystolicMemory& memory) {
  return with_memory({.array = counted(systolic_cycles(unit, shape)),
                      .fill = systolic_fill_cycles(unit, shape, memory)},
                     systolic_bytes(unit, shape, memory), memory);
}

SystolicCycles systolic_cycles(const SystolicUnit& unit, const AttentionShape& shape,
                               const SystolicMemory& memory, std::uint64_t bytes) {
  const std::vector<GemmShape> products = products_of(shape);
  SystolicCycles out{.fill = systolic_fill_cycles(unit, products.front(), memory)};
  for (const GemmShape& product : products) out.array += counted(systolic_cycles(unit, product));
  return with_memory(out, counted(bytes), memory);
}

double systolic_line_ps(const SystolicUnit& unit, const GemmShape& shape) {
  constexpr double kPsPerNs = 1e3;
  const std::uint64_t size = std::max({shape.m, shape.n, shape.k});
  const auto fits = [&](const CycleMap& line) { return size <= line.size_max; };
  const auto at = std::ranges::find_if(unit.cycles_to_time, fits);
  const CycleMap& line = at == unit.cycles_to_time.end() ? unit.cycles_to_time.back() : *at;
  const double cycles = counted(count_systolic(unit.array, shape).cycles) * counted(shape.batch);
  return static_cast<double>(line.intercept.ps) + cycles * line.ns_per_cycle * kPsPerNs;
}

double systolic_clock_hz(const Accelerator& accelerator, const SystolicUnit& unit,
                         schema::DataType type) {
  const double bf16 = rate_of(accelerator, schema::DataType::BF16);
  const double base = bf16 > 0 ? bf16 : rate_of(accelerator, schema::DataType::FP16);
  if (!(base > 0)) return 0;
  return static_cast<double>(unit.clock_hz) * accelerator.sustained_clock *
         rate_of(accelerator, type) / base;
}

SystolicMemory systolic_memory(const Accelerator& accelerator, const SystolicUnit& unit,
                               schema::Operation operation, schema::DataType type) {
  const double share = accelerator.efficiency.at(static_cast<std::size_t>(operation)).memory;
  return {.bytes_per_cycle =
              accelerator.memory_bytes_per_s * share / systolic_clock_hz(accelerator, unit, type),
          .sram_bytes = static_cast<std::uint64_t>(unit.sram_bytes),
          .element_bytes = static_cast<double>(bytes_of(type))};
}

std::optional<Priced> SystolicModel::price(const ComputeOperation& operation) const {
  const auto* gemm = std::get_if<GemmShape>(&operation.shape);
  const auto* attention = std::get_if<AttentionShape>(&operation.shape);
  if (operation.moves_memory || (gemm == nullptr && attention == nullptr)) return std::nullopt;
  const double clock_hz = systolic_clock_hz(accelerator_, unit_, operation.data_type);
  if (!(clock_hz > 0)) return std::nullopt;
  double ps = 0;
  if (!unit_.cycles_to_time.empty()) {
    const auto products = gemm != nullptr ? std::vector{*gemm} : products_of(*attention);
    for (const GemmShape& product : products) ps += systolic_line_ps(unit_, product);
  } else {
    const SystolicMemory memory =
        systolic_memory(accelerator_, unit_, operation.operation, operation.data_type);
    const SystolicCycles cycles = gemm != nullptr
                                      ? systolic_cycles(unit_, *gemm, memory)
                                      : systolic_cycles(unit_, *attention, memory, operation.bytes);
    constexpr double kPsPerS = 1e12;
    ps = cycles.all() * kPsPerS / clock_hz;
  }
  constexpr double kDurationMaxPs = 1e18;
  if (!(ps < kDurationMaxPs)) {
    throw core::InputError("takes more than 11 days on its systolic arrays");
  }
  const core::Time launch =
      unit_.cycles_to_time.empty() ? accelerator_.launch_latency : core::Time{};
  return Priced{.duration = launch + core::Time{static_cast<std::int64_t>(std::ceil(ps))},
                .provenance = Provenance::modelled,
                .relative_error = kSystolicError};
}

}  // namespace exawarp::model
