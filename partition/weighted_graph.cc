#include "partition/weighted_graph.h"

#include <algorithm>

#include "core/check.h"

namespace exawarp::partition {
namespace {

constexpr std::int64_t kSumMax = std::int64_t{1} << 62;

void add_bounded(std::int64_t& sum, std::int64_t weight) {
  EXAWARP_CHECK(weight >= 0 && weight < kSumMax - sum, weight, sum);
  sum += weight;
}

}  // namespace

WeightedGraph::WeightedGraph(std::vector<std::int64_t> vertex_weights,
                             std::vector<WeightedEdge> edges)
    : vertex_weights_(std::move(vertex_weights)), offsets_(vertex_weights_.size() + 1) {
  for (const std::int64_t weight : vertex_weights_) {
    add_bounded(total_weight_, weight);
    heaviest_vertex_ = std::max(heaviest_vertex_, weight);
  }

  std::erase_if(edges, [](const WeightedEdge& e) { return e.a == e.b || e.weight == 0; });
  for (WeightedEdge& edge : edges)
    if (edge.a > edge.b) std::swap(edge.a, edge.b);
  std::sort(edges.begin(), edges.end(), [](const WeightedEdge& x, const WeightedEdge& y) {
    return x.a != y.a ? x.a < y.a : x.b < y.b;
  });
  std::size_t kept = 0;
  std::int64_t total_edges = 0;
  for (const WeightedEdge& edge : edges) {
    EXAWARP_CHECK(edge.b < vertices(), edge.a, edge.b, vertices());
    add_bounded(total_edges, edge.weight);
    if (kept != 0 && edges[kept - 1].a == edge.a && edges[kept - 1].b == edge.b)
      edges[kept - 1].weight += edge.weight;
    else
      edges[kept++] = edge;
  }
  edges.resize(kept);

  for (const WeightedEdge& edge : edges) {
    ++offsets_[edge.a + 1];
    ++offsets_[edge.b + 1];
  }
  for (std::size_t v = 0; v + 1 < offsets_.size(); ++v) offsets_[v + 1] += offsets_[v];
  neighbours_.resize(offsets_.back());
  // Two sweeps over the sorted edges fill each row in ascending order: lower neighbours first.
  std::vector<std::uint64_t> next(offsets_.begin(), offsets_.end() - 1);
  for (const WeightedEdge& edge : edges) neighbours_[next[edge.b]++] = {edge.a, edge.weight};
  for (const WeightedEdge& edge : edges) neighbours_[next[edge.a]++] = {edge.b, edge.weight};
}

}  // namespace exawarp::partition
