// How long a compute or memory node takes on an accelerator, by the roofline model (Williams,
// Waterman, Patterson, CACM 2009) with an efficiency per kind of operation:
//
//   t = launch + max(flops / (eff_c * peak), bytes / (eff_m * bandwidth)),  rounded up to 1 ps
//
// peak is the matrix rate of the node's data type, times the sustained clock, for gemm, attention
// and convolution, else the vector rate; bytes are read plus written; a memory node has no flops,
// and moves its bytes over the host link where its place is the host. Computed in double, once per
// program node and rank, never in an event.
#pragma once

#include "model/compute/accelerator.h"
#include "model/compute/compute_model.h"

namespace exawarp::model {

// Floating-point operations a second that `operation` on `type` peaks at; 0: not offered.
double peak_flops_per_s(const Accelerator& accelerator, schema::Operation operation,
                        schema::DataType type);

// Knows every operation. One with a recorded duration and neither flops nor bytes takes that:
// there is nothing else to go by.
class Roofline final : public ComputeModel {
 public:
  // The accelerator outlives it.
  explicit Roofline(const Accelerator& accelerator) : accelerator_(accelerator) {}
  [[nodiscard]] std::optional<Priced> price(const ComputeOperation& operation) const override;
  [[nodiscard]] core::Time duration(const ComputeOperation& operation) const;

 private:
  const Accelerator& accelerator_;
};

}  // namespace exawarp::model
