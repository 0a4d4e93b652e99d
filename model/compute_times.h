// What an average device computes in a step, by phase and kind of operation.
#pragma once

#include <vector>

#include "core/time.h"
#include "model/cluster.h"
#include "model/outcome.h"
#include "model/workload/workload.capnp.h"

namespace exawarp::model {

struct ComputeTime {
  schema::Phase phase = schema::Phase::NONE;
  schema::Operation operation = schema::Operation::OTHER;
  double nodes = 0, seconds = 0, flops = 0, bytes = 0;  // a device and step, on average
};

// Of all devices that run a program, in the order of phases and operations. Durations are the
// compute model's: without jitter, slow devices and what collectives beside them take away.
// Cost: O(nodes).
std::vector<ComputeTime> compute_times(const Cluster& cluster, const Outcome& outcome);

// The type that most floating-point operations of the programs' products are in; NONE: no products.
schema::DataType products_type(const WorkloadGraph& graph);

}  // namespace exawarp::model
