// What a placement is made from: atoms with a weight (the events they will execute) and edges
// with a weight (the messages they will exchange). Undirected, in compressed rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace exawarp::partition {

// Between two different atoms; edges of the same pair add up.
struct WeightedEdge {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::int64_t weight = 1;
};

struct Neighbour {
  std::uint32_t vertex = 0;
  std::int64_t weight = 0;
};

// Invariant: rows are ascending by neighbour, without repeats; each edge is in both its rows.
class WeightedGraph {
 public:
  // Requires weights >= 0 whose sums stay below 2^62, and ends below vertex_weights.size().
  // An edge of an atom with itself is dropped: it can never be cut.
  WeightedGraph(std::vector<std::int64_t> vertex_weights, std::vector<WeightedEdge> edges);

  [[nodiscard]] std::uint32_t vertices() const {
    return static_cast<std::uint32_t>(vertex_weights_.size());
  }
  [[nodiscard]] std::int64_t weight(std::uint32_t v) const { return vertex_weights_[v]; }
  [[nodiscard]] std::int64_t total_weight() const { return total_weight_; }
  [[nodiscard]] std::int64_t heaviest_vertex() const { return heaviest_vertex_; }
  [[nodiscard]] std::span<const Neighbour> neighbours(std::uint32_t v) const {
    return {neighbours_.data() + offsets_[v], neighbours_.data() + offsets_[v + 1]};
  }

 private:
  std::vector<std::int64_t> vertex_weights_;
  std::vector<std::uint64_t> offsets_;
  std::vector<Neighbour> neighbours_;
  std::int64_t total_weight_ = 0;
  std::int64_t heaviest_vertex_ = 0;
};

}  // namespace exawarp::partition
