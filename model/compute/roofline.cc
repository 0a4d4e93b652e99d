#include "model/compute/roofline.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/error.h"

namespace exawarp::model {
namespace {

// 11 days: beyond any node, and a few of them still fit a Time.
constexpr double kDurationMaxPs = 1e18;

bool uses_matrix_rate(schema::Operation operation) {
  return operation == schema::Operation::GEMM || operation == schema::Operation::ATTENTION ||
         operation == schema::Operation::CONVOLUTION;
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

core::Time node_duration(const Accelerator& accelerator, schema::Node::Reader node,
                         ComputeFidelity fidelity) {
  const bool memory_node = node.getKind() == schema::NodeKind::MEMORY;
  const std::uint64_t flops = memory_node ? 0 : node.getFlops();
  const std::uint64_t bytes = node.getBytesRead() + node.getBytesWritten();
  const bool recorded = node.getDurationPs() != schema::NO_DURATION;
  if (recorded && (fidelity == ComputeFidelity::recorded || (flops == 0 && bytes == 0))) {
    return {static_cast<std::int64_t>(node.getDurationPs())};
  }
  const auto operation = memory_node ? schema::Operation::OTHER : node.getOperation();
  const Efficiency& efficiency = accelerator.efficiency.at(static_cast<std::size_t>(operation));
  const bool to_host = memory_node && node.getPlace() == schema::MemoryPlace::HOST;
  const double clock = uses_matrix_rate(operation) ? accelerator.sustained_clock : 1;
  const double compute_ps = picoseconds(
      flops, efficiency.compute * clock, peak_flops_per_s(accelerator, operation, node.getDataType()),
      uses_matrix_rate(operation) ? "matrix rate of the data type" : "vector rate", accelerator);
  const double memory_ps =
      to_host ? picoseconds(bytes, 1.0, accelerator.host_bytes_per_s, "host link", accelerator)
              : picoseconds(bytes, efficiency.memory, accelerator.memory_bytes_per_s,
                            "memory bandwidth", accelerator);
  return accelerator.launch_latency + rounded_up(std::max(compute_ps, memory_ps));
}

}  // namespace exawarp::model
