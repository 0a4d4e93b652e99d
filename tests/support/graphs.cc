#include "tests/support/graphs.h"

#include "core/random.h"

namespace exawarp::tests {

using partition::WeightedEdge;
using partition::WeightedGraph;

std::vector<std::int64_t> equal_weights(std::uint32_t atoms) {
  return std::vector<std::int64_t>(atoms, 8);
}

WeightedGraph ring_of(std::uint32_t atoms) {
  std::vector<WeightedEdge> edges;
  for (std::uint32_t v = 0; v < atoms; ++v) edges.push_back({v, (v + 1) % atoms, 1});
  return {equal_weights(atoms), std::move(edges)};
}

WeightedGraph strided_rings(std::uint32_t rings, std::uint32_t members) {
  std::vector<WeightedEdge> edges;
  for (std::uint32_t m = 0; m < members; ++m)
    for (std::uint32_t r = 0; r < rings; ++r) {
      edges.push_back({m * rings + r, (m + 1) % members * rings + r, 100});
      if (r + 1 < rings) edges.push_back({m * rings + r, m * rings + r + 1, 1});
    }
  return {equal_weights(rings * members), std::move(edges)};
}

WeightedGraph random_graph(std::uint64_t seed, std::uint32_t atoms, std::uint32_t degree) {
  std::uint64_t draw = 0;
  const auto below = [&](std::uint64_t n) { return core::random_bits(seed, draw++) % n; };
  std::vector<std::int64_t> weights;
  for (std::uint32_t v = 0; v < atoms; ++v) weights.push_back(static_cast<std::int64_t>(below(10)));
  std::vector<WeightedEdge> edges;
  for (std::uint32_t e = 0; e < atoms * degree / 2; ++e)
    edges.push_back({static_cast<std::uint32_t>(below(atoms)),
                     static_cast<std::uint32_t>(below(atoms)),
                     static_cast<std::int64_t>(1 + below(20))});
  return {std::move(weights), std::move(edges)};
}

RandomPlacementCase random_placement_case(std::uint64_t seed) {
  const auto draw = [seed](std::uint64_t number, std::uint64_t most) {
    return static_cast<std::uint32_t>(1 + core::random_bits(seed, 1'000'000 + number) % most);
  };
  const std::uint32_t atoms = draw(0, 800);
  return {random_graph(seed, atoms, 6),
          {.atoms = atoms, .ranks = draw(1, 5), .partitions_per_rank = draw(2, 9)}};
}

}  // namespace exawarp::tests
