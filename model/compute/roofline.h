// How long a compute or memory node takes on an accelerator, by the roofline model (Williams,
// Waterman, Patterson, CACM 2009) with an efficiency per kind of operation:
//
//   t = launch + max(flops / (eff_c * peak), bytes / (eff_m * bandwidth)),  rounded up to 1 ps
//
// peak is the matrix rate of the node's data type, times the sustained clock, for gemm, attention
// and convolution, else the vector rate; bytes are read plus written; a memory node has no flops, and moves its bytes over
// the host link where its place is the host. Computed in double, once per program node and rank,
// never in an event.
#pragma once

#include <cstdint>
#include <span>

#include "core/names.h"
#include "core/time.h"
#include "model/compute/accelerator.h"
#include "model/workload/workload.capnp.h"

namespace exawarp::model {

enum class ComputeFidelity : std::uint8_t {
  roofline,  // from operations and bytes
  recorded,  // a node's recorded duration where it has one, else as roofline
};

inline constexpr core::Named<ComputeFidelity> kComputeFidelityNames[] = {
    {"roofline", ComputeFidelity::roofline}, {"recorded", ComputeFidelity::recorded}};
constexpr std::span<const core::Named<ComputeFidelity>> names_of(ComputeFidelity) {
  return kComputeFidelityNames;
}
static_assert(core::names_each(kComputeFidelityNames));

// Floating-point operations a second that `operation` on `type` peaks at; 0: not offered.
double peak_flops_per_s(const Accelerator& accelerator, schema::Operation operation,
                        schema::DataType type);

// Requires a compute or memory node. A node with a recorded duration and neither flops nor bytes
// takes its duration at either fidelity: there is nothing else to go by. Throws core::InputError,
// without a place (the caller knows it), where the accelerator lacks the rate the node needs.
core::Time node_duration(const Accelerator& accelerator, schema::Node::Reader node,
                         ComputeFidelity fidelity);

}  // namespace exawarp::model
