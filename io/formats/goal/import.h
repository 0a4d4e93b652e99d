// A GOAL schedule as a workload graph, to run on our own networks.
//
// Each rank is a device with a program of its own. A calculation becomes a compute node with a
// recorded duration, on a stream for each CPU; sends and receives go on streams by peer. `requires`
// becomes a dependency. What differs from `exawarp goal` (docs/guide/goal.md): `irequires` becomes
// a dependency on all that its operation requires; NICs are the cluster's own; and streams issue in
// order, so two receives from one peer are posted in the order of the schedule.
#pragma once

#include "model/guests/goal/schedule.h"
#include "model/workload/graph.h"

namespace exawarp::io {

// Throws core::InputError where the schedule has what a workload cannot say: a receive from any
// source or with any tag, a message to its own rank, an empty message.
model::WorkloadGraph import_goal(const model::goal::Schedule& schedule);

}  // namespace exawarp::io
