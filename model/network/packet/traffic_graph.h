// Who talks to whom: what placements are made from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ids.h"
#include "model/network/packet/packet_network.h"

namespace exawarp::model {

// Who synchronises with whom, as a symmetric weighted graph of atoms in compressed rows.
struct Traffic {
  std::vector<std::uint64_t> work;         // per atom: events that its LPs will execute
  std::vector<std::uint64_t> first_edge;   // atom a's edges are [first_edge[a], first_edge[a + 1])
  std::vector<std::uint32_t> neighbour;    // atom at the other end, ascending within an atom
  // Collectives of both, and four for each send; where packets are simulated, packets.
  std::vector<std::uint64_t> weight;
};

// Adds edges between atoms up into a symmetric graph.
class TrafficBuilder {
 public:
  explicit TrafficBuilder(std::uint32_t atoms) { traffic_.work.assign(atoms, 0); }

  void add_work(std::uint32_t atom, std::uint64_t events) { traffic_.work[atom] += events; }
  // Nothing where an atom talks to itself.
  void add_edge(std::uint32_t a, std::uint32_t b, std::uint64_t weight);
  // All that was added. Call once.
  [[nodiscard]] Traffic build();

 private:
  struct Edge {
    std::uint32_t from, to;
    std::uint64_t weight;
  };

  void merge();

  Traffic traffic_;
  std::vector<Edge> edges_;
  std::size_t merged_ = 0;
};

// Adds what devices send each other by packets. They are walked along one shortest way, with
// switches spread over destinations, and count at each vertex and link that they pass. What
// adaptive routing or detours would do is not known here.
class PacketPaths {
 public:
  // Both outlive it.
  PacketPaths(const PacketNetwork& network, std::uint32_t atom_shift, TrafficBuilder& builder)
      : network_(network), atom_shift_(atom_shift), builder_(builder) {}

  void add(core::DeviceId from, core::DeviceId to, std::uint64_t messages, std::uint64_t bytes);

 private:
  [[nodiscard]] std::uint32_t atom_of(VertexId v) const {
    return network_.lp_of(v).value >> atom_shift_;
  }

  const PacketNetwork& network_;
  std::uint32_t atom_shift_;
  TrafficBuilder& builder_;
};

}  // namespace exawarp::model
