// Inside the transformer generator: mesh axes, the communicators over them, and who holds what.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/generate/transformer_spec.h"
#include "model/workload/builder.h"

namespace exawarp::model {

// The ranks that hold the same parameters: `shards` of them share one copy, of which there are
// `replicas`.
struct ParameterGroup {
  std::uint32_t shards = 1, replicas = 1;
  std::uint16_t reduce = 0;   // communicator of the shards, for gradients,
  std::uint16_t gather = 0;   // for parameters (zero3 may have one; else `reduce`),
  std::uint16_t replica = 0;  // and of those that hold the same shard
  [[nodiscard]] std::uint32_t ranks() const { return shards * replicas; }
};

struct TransformerMesh {
  struct Axis {
    std::string name;
    std::uint32_t size = 1, stride = 1;
  };
  std::vector<Axis> axes;  // fastest-varying first, those of size 1 that nobody listed left out
  std::uint32_t devices = 1;
  std::uint8_t pipeline_axis = 0;
  std::uint32_t pipeline_stride = 1;
  // Of expert-parallel ranks: the place among them is outer + outer_size * inner.
  Axis expert_outer, expert_inner;  // of the tensor axis, and of the data axis

  std::uint16_t tensor = 0, pipeline = 0, context = 0, expert = 0, expert_tensor = 0, embedding = 0;
  // With routing.node_devices `expert` is of the ranks of one node, and this of those with the same
  // place in each of the nodes.
  std::uint16_t expert_nodes = 0;
  ParameterGroup dense, experts;

  [[nodiscard]] std::uint32_t stage_of(std::uint32_t device, std::uint32_t stages) const {
    return device / pipeline_stride % stages;
  }
  [[nodiscard]] std::uint32_t expert_rank_of(std::uint32_t device) const {
    return device / expert_outer.stride % expert_outer.size +
           expert_outer.size * (device / expert_inner.stride % expert_inner.size);
  }
};

// The axes in order, each by name and size: parallel.order with what it leaves out put in.
// Requires sizes that check() accepts.
std::vector<TransformerMesh::Axis> mesh_axes(const ParallelSpec& parallel);

// Expert-parallel ranks that share a node, by routing.node_devices and the order of the axes:
// parallel.expert where all do, 0 where some nodes have more than others.
std::int64_t expert_ranks_of_node(const TransformerSpec& spec);

// Adds axes and groups to `workload`. `embedding_stages`: stages that share a tied embedding; a
// group is made of them if they are two or more.
TransformerMesh add_mesh(const TransformerSpec& spec,
                         const std::vector<std::uint32_t>& embedding_stages,
                         WorkloadBuilder& workload);

}  // namespace exawarp::model
