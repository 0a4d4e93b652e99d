// What tests of ways of splitting a transformer share. T = 64 tokens a micro-batch, H = 64,
// F = 160, q = 64, k = 16, V = 512, e = 2 bytes, 4 layers, unless a test says otherwise.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "model/generate/transformer.h"
#include "tests/support/workload_builders.h"

namespace exawarp::tests {

// P of a layer on one device, and of the embedding.
inline constexpr std::uint64_t kLayer = 64 * (64 + 32) + 64 * 64 + 3 * 64 * 160 + 2 * 64;
inline constexpr std::uint64_t kTable = 512 * 64;

struct Total {
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const Total&, const Total&) = default;
};

inline std::ostream& operator<<(std::ostream& out, const Total& total) {
  return out << total.count << " of " << total.bytes << " bytes in all";
}

// Nodes of that name in a program, and their commBytes.
inline Total total_of(const model::WorkloadGraph& graph, const std::string& name,
                      std::uint32_t program = 0) {
  Total total;
  const model::Program& nodes = graph.program(program);
  for (std::uint32_t i = 0; i < nodes.node_count(); ++i) {
    if (graph.node_name(nodes.node(i)) != name) continue;
    ++total.count;
    total.bytes += nodes.node(i).getCommBytes();
  }
  return total;
}

// Of the first program.
inline std::uint64_t flops_of(const model::WorkloadGraph& graph, const std::string& name) {
  std::uint64_t flops = 0;
  const model::Program& nodes = graph.program(0);
  for (std::uint32_t i = 0; i < nodes.node_count(); ++i) {
    if (graph.node_name(nodes.node(i)) == name) flops += nodes.node(i).getFlops();
  }
  return flops;
}

// 2 micro-batches a data-parallel rank.
inline model::TransformerSpec split(const model::ParallelSpec& parallel) {
  model::TransformerSpec spec = tiny_llama();
  spec.parallel = parallel;
  spec.global_batch_sequences = 4 * parallel.data;
  return spec;
}

}  // namespace exawarp::tests
