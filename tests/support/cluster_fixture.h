// Small clusters with round figures, and one call that simulates them in any mode.
#pragma once

#include <cstdint>
#include <memory>

#include "model/cluster.h"
#include "model/energy/power_trace.h"
#include "model/generate/transformer_spec.h"
#include "model/outcome.h"
#include "model/workload/builder.h"
#include "model/workload/graph.h"
#include "pdes/engine.h"
#include "tests/support/run_matrix.h"

namespace exawarp::tests {

// 1 TFLOP/s matrix (bf16), 100 GFLOP/s vector, 1 TB/s memory, no launch latency, efficiency 1.
model::Accelerator round_accelerator();
// The same, which draws 100 W idle, 150 W communicating, and at most 500 W: from half the dense
// peak on. At the memory's bandwidth 0.75 of what lies between.
model::Accelerator powered_accelerator();
// Nodes of 4: 100 GB/s, 1 us. Across: 10 GB/s, 8 devices a leaf, 2 leaves a pod, endpoint 2 us,
// switch 100 ns, link 10 ns: 2.12 us below a leaf, 2.34 us in a pod, 2.56 us beyond.
model::Fabric round_fabric();
// The Clos network of such a fabric, to change.
model::ClosSpec& tree_of(model::Fabric& fabric);

constexpr core::Time kNodeLatency{1'000'000};
constexpr core::Time kLeafLatency{2'120'000};
constexpr core::Time kPodLatency{2'340'000};
constexpr core::Time kCoreLatency{2'560'000};
constexpr std::int64_t kNodePsPerByte = 10;
constexpr std::int64_t kScaleOutPsPerByte = 100;

// `devices` over one axis "device" with group "all"; every one runs `repeats` collectives.
model::WorkloadGraph collectives(model::schema::CollectiveType type, std::uint32_t devices,
                                 std::uint64_t bytes, std::uint32_t repeats = 1,
                                 std::uint32_t root = 0);

// Two stages (axis "pipeline"), `micro_batches` in 1F1B order, recorded durations, messages of
// `bytes`.
struct PipelineShape {
  std::uint32_t micro_batches = 4;
  core::Time forward, backward;
  std::uint64_t bytes = 0;
};
model::WorkloadGraph two_stage_pipeline(const PipelineShape& shape);

// A training step in small: axes tensor, data, pipeline; each stage computes, all-reduces over
// tensor after each micro-batch's forward and backward, passes activations and gradients, and
// reduce-scatters and all-gathers over data at the end, on streams of their own.
struct TrainingShape {
  std::uint32_t tensor = 4, data = 4, pipeline = 2;
  std::uint32_t micro_batches = 4;
  std::uint32_t layers = 2;  // tensor all-reduces a micro-batch and direction
};
model::WorkloadGraph small_training_step(const TrainingShape& shape);

// A generated training step of a small Llama (8 layers, hidden 1024, 8 heads, 4 KV heads), 4
// micro-batches a pipeline.
model::WorkloadGraph small_llama(const model::ParallelSpec& parallel, std::int64_t steps = 1);

struct ClusterRun {
  pdes::RunResult result;
  model::Outcome outcome;
  std::unique_ptr<model::PowerTrace> power;  // where it was asked for; finished
};

struct TracedPower {
  model::SystemPower system;
  model::PowerTraceOptions options;
};

// Simulates `cluster` as `run` says, placed in blocks of atoms. The outcome is rank 0's.
ClusterRun run_cluster(const model::Cluster& cluster, const RunCase& run = {},
                       const TracedPower* power = nullptr);

// A graph, a cluster of it with the round system, and what its sequential run says.
struct Simulated {
  std::unique_ptr<model::WorkloadGraph> graph;
  std::unique_ptr<model::Cluster> cluster;
  model::Outcome outcome;

  // Picoseconds of all devices in class `c`.
  [[nodiscard]] std::int64_t time_in(model::TimeClass c) const {
    return static_cast<std::int64_t>(outcome.time_in(outcome.total(), c));
  }
};
Simulated simulate(model::WorkloadGraph graph, const model::ClusterOptions& options = {});

}  // namespace exawarp::tests
