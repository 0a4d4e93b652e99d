// The smallest workloads: one collective, one message, one chain of computations. Their times are
// closed formulas, so tests hold the simulator against them.
#pragma once

#include "model/generate/spec.h"
#include "model/workload/graph.h"

namespace exawarp::model {

// Throws SpecProblem naming the first key that makes `spec` impossible.
void check(const MicrobenchmarkSpec& spec);

// The workload of `spec`, validated and indexed, over its mesh or one axis named "device" and one
// group "all" of every device. Throws SpecProblem as check() does.
// Throws WorkloadTooLarge (builder.h) where the file would have more than `bytes_max` bytes.
WorkloadGraph generate_microbenchmark(const MicrobenchmarkSpec& spec,
                       std::uint64_t bytes_max = ~std::uint64_t{0});

}  // namespace exawarp::model
