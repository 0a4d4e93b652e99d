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
std::vector<ComputeTime> compute_times(const Cluster& cluster, const Outcome& outcome);

// What the busiest device's host takes in a step to launch what the device does; 0 where no program
// says so.
double host_seconds(const Cluster& cluster, const Outcome& outcome);

// What a device and step spent in a pass, on average: how long it took, waits for other devices and
// for messages of the pipeline left out.
struct PassTime {
  schema::Phase pass = schema::Phase::NONE;
  double seconds = 0;
};
// Of a schedule that runs passes together, in the order of phases; empty where no job has one. What
// is left of the step is the bubble.
std::vector<PassTime> pass_times(const Outcome& outcome);

// The type that most floating-point operations of a job's products are in; NONE: no products.
schema::DataType products_type(const Cluster& cluster, const PlacedJob& job);

}  // namespace exawarp::model
