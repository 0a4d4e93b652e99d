#include "model/compute/roofline.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/error.h"

namespace exawarp::model {
namespace {

// By which one efficiency for a kind of operation misses: published runs imply 0.60 where the best
// kernels reach 0.72 (docs/reference/kernel_tables.md).
constexpr double kRooflineError = 0.15;
// 11 days: beyond any node, and a few of them still fit a Time.
constexpr double kDurationMaxPs = 1e18;

bool uses_matrix_rate(schema::Operation operation) {
  return operation == schema::Operation::GEMM || operation == schema::Operation::ATTENTION ||
         operation == schema::Operation::CONVOLUTION || operation == schema::Operation::SCAN;
}

// amount / (efficiency * rate) in picoseconds; 0 for nothing to do. The product comes first: it
// is exact for the round figures of a test.
double picoseconds(std::uint64_t amount, double efficiency, double rate, const char* key,
               const Accelerator& accelerator) {
  if (amount == 0) return 0;
  if (!(rate > 0) || !(efficiency > 0)) {
    throw core::InputError(
        fmt::format("needs a rate that accelerator \"{}\" does not give: \"{}\"; expected a rate "
                    "and an efficiency above 0 there",
                    accelerator.name, key));
  }
  return static_cast<double>(amount) * static_cast<double>(core::kPicosecondsPerSecond) /
         (efficiency * rate);
}

core::Time rounded_up(double ps) {
  if (!(ps <= kDurationMaxPs)) {
    throw core::InputError(
        fmt::format("takes {:.3g} ps; expected at most {:.0e} ps a node", ps, kDurationMaxPs));
  }
  EXAWARP_CHECK(ps >= 0, ps);
  return {static_cast<std::int64_t>(std::ceil(ps))};
}

}  // namespace

double peak_flops_per_s(const Accelerator& accelerator, schema::Operation operation,
                        schema::DataType type) {
  if (!uses_matrix_rate(operation)) return accelerator.vector_flops_per_s;
  return accelerator.matrix_flops_per_s.at(static_cast<std::size_t>(type));
}

ComputeOperation operation_of(const schema::Node::Reader& node, const Shape& shape) {
  ComputeOperation out;
  out.moves_memory = node.getKind() == schema::NodeKind::MEMORY;
  out.operation = out.moves_memory ? schema::Operation::OTHER : node.getOperation();
  out.data_type = node.getDataType();
  out.to_host = out.moves_memory && node.getPlace() == schema::MemoryPlace::HOST;
  out.flops = out.moves_memory ? 0 : node.getFlops();
  out.bytes = node.getBytesRead() + node.getBytesWritten();
  if (node.getDurationPs() != schema::NO_DURATION) {
    out.recorded = core::Time{static_cast<std::int64_t>(node.getDurationPs())};
  }
  out.shape = shape;
  return out;
}

core::Time Roofline::duration(const ComputeOperation& node) const {
  if (node.recorded && node.flops == 0 && node.bytes == 0) return *node.recorded;
  const Efficiency& efficiency =
      accelerator_.efficiency.at(static_cast<std::size_t>(node.operation));
  const double clock = uses_matrix_rate(node.operation) ? accelerator_.sustained_clock : 1;
  const double compute_ps =
      picoseconds(node.flops, efficiency.compute * clock,
                  peak_flops_per_s(accelerator_, node.operation, node.data_type),
                  uses_matrix_rate(node.operation) ? "matrix rate of the data type" : "vector rate",
                  accelerator_);
  const double memory_ps =
      node.to_host
          ? picoseconds(node.bytes, 1.0, accelerator_.host_bytes_per_s, "host link", accelerator_)
          : picoseconds(node.bytes, efficiency.memory, accelerator_.memory_bytes_per_s,
                        "memory bandwidth", accelerator_);
  return accelerator_.launch_latency + rounded_up(std::max(compute_ps, memory_ps));
}

std::optional<Priced> Roofline::price(const ComputeOperation& operation) const {
  const bool as_recorded = operation.recorded && operation.flops == 0 && operation.bytes == 0;
  if (as_recorded) {
    return Priced{.duration = duration(operation), .provenance = Provenance::recorded};
  }
  return Priced{.duration = duration(operation),
                .provenance = Provenance::modelled,
                .relative_error = kRooflineError};
}

}  // namespace exawarp::model
