// Topology-aware placement of a training cluster: rings of nodes (data parallel) that carry much,
// chains between them (pipeline) that carry little, numbered across the rings.
#include <benchmark/benchmark.h>

#include "partition/quality.h"
#include "partition/topology_aware.h"

namespace exawarp::partition {
namespace {

WeightedGraph cluster_of(std::uint32_t stages, std::uint32_t replicas) {
  std::vector<WeightedEdge> edges;
  for (std::uint32_t r = 0; r < replicas; ++r)
    for (std::uint32_t s = 0; s < stages; ++s) {
      edges.push_back({r * stages + s, (r + 1) % replicas * stages + s, 4080});
      if (s + 1 < stages) edges.push_back({r * stages + s, r * stages + s + 1, 256});
    }
  return {std::vector<std::int64_t>(stages * replicas, 8), std::move(edges)};
}

void place_nodes(benchmark::State& state) {
  const auto nodes = static_cast<std::uint32_t>(state.range(0));
  const WeightedGraph graph = cluster_of(16, nodes / 16);
  const PlacementRequest request{
      .atoms = nodes, .atom_shift = 3, .ranks = 8, .partitions_per_rank = 8};
  core::Placement placement;
  for (auto _ : state) placement = place_by_topology(graph, request);
  const Quality ours = measure(graph, placement);
  const Quality blocks = measure(graph, place_in_blocks(request));
  state.counters["cut_against_blocks"] =
      static_cast<double>(ours.cut) / static_cast<double>(blocks.cut);
}
BENCHMARK(place_nodes)->Arg(1024)->Arg(4096)->Arg(16384)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace exawarp::partition
