#include "model/compute/roofline.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace exawarp::model {
namespace {

// Beyond any run, far from overflow once 2^20 of them are added up.
constexpr double kDurationMaxS = 1e6;

bool uses_matrix_rate(schema::Operation operation) {
  return operation == schema::Operation::GEMM || operation == schema::Operation::ATTENTION ||
         operation == schema::Operation::CONVOLUTION;
}

// amount / (efficiency * rate) in seconds; 0 for nothing to do.
double seconds(std::uint64_t amount, double efficiency, double rate, const char* key,
               const Accelerator& accelerator) {
  if (amount == 0) return 0;
  if (!(rate > 0) || !(efficiency > 0)) {
    throw core::InputError(
        fmt::format("needs a rate that accelerator \"{}\" does not give: \"{}\"; expected a rate "
                    "and an efficiency above 0 there",
                    accelerator.name, key));
  }
  return static_cast<double>(amount) / (efficiency * rate);
}

core::Time rounded_up(double s) {
  if (!(s <= kDurationMaxS)) {
    throw core::InputError(
        fmt::format("takes {:.3g} s; expected at most {:.0e} s a node", s, kDurationMaxS));
  }
  return {static_cast<std::int64_t>(
      std::ceil(s * static_cast<double>(core::kPicosecondsPerSecond)))};
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
  const double compute_s = seconds(
      flops, efficiency.compute, peak_flops_per_s(accelerator, operation, node.getDataType()),
      uses_matrix_rate(operation) ? "matrix rate of the data type" : "vector rate", accelerator);
  const double memory_s =
      to_host ? seconds(bytes, 1.0, accelerator.host_bytes_per_s, "host link", accelerator)
              : seconds(bytes, efficiency.memory, accelerator.memory_bytes_per_s,
                        "memory bandwidth", accelerator);
  return accelerator.launch_latency + rounded_up(std::max(compute_s, memory_s));
}

}  // namespace exawarp::model
