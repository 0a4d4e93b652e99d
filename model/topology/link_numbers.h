// Directed links, numbered through: vertex by vertex, port by port.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/topology/topology.h"

namespace exawarp::model {

// Memory: 8 bytes a vertex. Links may be more than 2^32.
class LinkNumbers {
 public:
  explicit LinkNumbers(const Topology& topology) {
    const std::uint32_t all = topology.devices() + topology.switches();
    first_.reserve(std::size_t{all} + 1);
    for (std::uint32_t v = 0; v < all; ++v) {
      first_.push_back(first_.back() + topology.ports({v}));
    }
  }

  [[nodiscard]] std::uint64_t count() const { return first_.back(); }
  [[nodiscard]] std::uint32_t vertices() const {
    return static_cast<std::uint32_t>(first_.size() - 1);
  }
  // The link that leaves `v` by `port`.
  [[nodiscard]] std::uint64_t of(VertexId v, std::uint32_t port) const {
    return first_[v.value] + port;
  }
  // Where link `number` leaves: of() the other way. Requires one below count().
  [[nodiscard]] std::pair<VertexId, std::uint32_t> port_of(std::uint64_t number) const {
    const auto next = std::upper_bound(first_.begin(), first_.end(), number);
    const auto vertex = static_cast<std::uint32_t>(next - first_.begin() - 1);
    return {VertexId{vertex}, static_cast<std::uint32_t>(number - first_[vertex])};
  }

 private:
  std::vector<std::uint64_t> first_{0};  // by vertex, with one more for the end
};

}  // namespace exawarp::model
