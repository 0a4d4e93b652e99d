// A program as the directed graph that a device has to follow: a node comes after what it depends
// on and after the node before it in its stream.
#pragma once

#include <cstdint>
#include <vector>

#include "model/workload/graph.h"

namespace exawarp::model {

struct ProgramDag {
  std::vector<std::uint32_t> order;                // all nodes, each after those it comes after
  std::vector<std::vector<std::uint32_t>> before;  // by node: what it comes after, each once
  std::vector<std::uint32_t> level;                // by node: nodes on the longest way to it
  std::uint32_t depth = 0;                         // levels
};

// Requires a program of a validated graph. The order takes, of what is ready, the lowest index.
// O(nodes * log nodes + dependencies).
ProgramDag program_dag(const Program& program);

// What a node takes on a nominal device, in picoseconds: its recorded duration, or the longer of
// its arithmetic at 500 TFLOP/s and its memory traffic at 2 TB/s; of what is communicated, its
// bytes at 50 GB/s. It compares graphs with each other and predicts nothing.
double nominal_ps(const schema::Node::Reader& node, std::uint64_t comm_bytes);

// The bytes that a collective takes from a device: commBytes, or its mean share of the table.
std::uint64_t handed_bytes(const WorkloadGraph& graph, const schema::Node::Reader& node);

}  // namespace exawarp::model
