// Placement by METIS, in two rounds: the atoms among the ranks, then each rank's atoms among its
// partitions. In one round METIS would not know that a border between ranks costs more than one
// between partitions, and a rank's partitions would be strangers to each other.
//
// METIS coarsens the graph by merging neighbours along heavy edges, divides the small graph, and
// refines the division at each step back. That finds cuts which one level of growing misses where
// the graph is irregular; docs/reference/partitioning.md compares.
//
// Numbers. Debian's METIS counts in 32 bits, ours in 64: weights are divided until their sum fits,
// rounding up, so that nothing that weighs becomes weightless. Its random numbers are the C
// library's, which is why calls take turns, and why the result may differ between builds of METIS.
//
// G. Karypis, V. Kumar: "A fast and high quality multilevel scheme for partitioning irregular
// graphs", SIAM J. Sci. Comput. 20 (1998).
#include "partition/metis.h"

#include <metis.h>

#include <limits>
#include <mutex>
#include <numeric>
#include <span>
#include <vector>

#include "core/check.h"
#include "core/error.h"
#include "partition/idle_atoms.h"

namespace exawarp::partition {
namespace {

constexpr idx_t kSeed = 1;
// Recursive bisection cuts less in few parts, direct division is as good in many and faster (the
// METIS manual, section 4.3).
constexpr std::uint32_t kRecursivePartsMax = 8;
// Sums of weights stay below this, with room for METIS's own sums of them.
constexpr std::int64_t kWeightSumMax = std::numeric_limits<idx_t>::max() / 4;

// The subgraph on some atoms as METIS takes it: compressed rows with scaled weights.
struct MetisGraph {
  std::vector<idx_t> row{0};
  std::vector<idx_t> neighbour;
  std::vector<idx_t> edge_weight;
  std::vector<idx_t> vertex_weight;
};

// weight / divisor, rounded up.
idx_t scaled(std::int64_t weight, std::int64_t divisor) {
  return static_cast<idx_t>(weight / divisor + (weight % divisor != 0 ? 1 : 0));
}

// The least divisor with which `count` weights of sum `sum`, each rounded up, stay in range.
std::int64_t divisor_for(std::int64_t sum, std::size_t count) {
  const std::int64_t room = kWeightSumMax - static_cast<std::int64_t>(count);
  EXAWARP_CHECK(room > 0, count);
  return sum / room + 1;
}

// `local` maps an atom to its index in `atoms` plus one, and to 0 for the others.
MetisGraph subgraph_on(std::span<const std::uint32_t> atoms, const WeightedGraph& graph,
                       const std::vector<std::uint32_t>& local) {
  std::int64_t vertex_sum = 0;
  std::int64_t edge_sum = 0;
  std::size_t edges = 0;
  for (const std::uint32_t v : atoms) {
    vertex_sum += graph.weight(v);
    for (const Neighbour& n : graph.neighbours(v)) {
      if (local[n.vertex] == 0) continue;
      edge_sum += n.weight;
      ++edges;
    }
  }
  const std::int64_t vertex_divisor = divisor_for(vertex_sum, atoms.size());
  const std::int64_t edge_divisor = divisor_for(edge_sum, edges);
  MetisGraph out;
  for (const std::uint32_t v : atoms) {
    out.vertex_weight.push_back(scaled(graph.weight(v), vertex_divisor));
    for (const Neighbour& n : graph.neighbours(v)) {
      if (local[n.vertex] == 0) continue;
      out.neighbour.push_back(static_cast<idx_t>(local[n.vertex] - 1));
      out.edge_weight.push_back(scaled(n.weight, edge_divisor));
    }
    out.row.push_back(static_cast<idx_t>(out.neighbour.size()));
  }
  return out;
}

[[noreturn]] void refuse(int status) {
  throw core::SystemError(
      status == METIS_ERROR_MEMORY
          ? "METIS: not enough memory; placement.method: topology-aware would need less"
          : "METIS: refused the graph; placement.method: topology-aware would do without");
}

// The part, below `parts`, of each vertex.
std::vector<idx_t> divide(MetisGraph graph, std::uint32_t parts) {
  static std::mutex turn;  // for the C library's random numbers
  const std::lock_guard lock(turn);
  auto vertices = static_cast<idx_t>(graph.vertex_weight.size());
  idx_t constraints = 1;
  auto part_count = static_cast<idx_t>(parts);
  idx_t cut = 0;
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = kSeed;
  options[METIS_OPTION_NUMBERING] = 0;
  std::vector<idx_t> part(graph.vertex_weight.size());
  const auto method = parts <= kRecursivePartsMax ? METIS_PartGraphRecursive : METIS_PartGraphKway;
  const int status = method(&vertices, &constraints, graph.row.data(), graph.neighbour.data(),
                            graph.vertex_weight.data(), nullptr, graph.edge_weight.data(),
                            &part_count, nullptr, nullptr, options, &cut, part.data());
  if (status != METIS_OK) refuse(status);
  return part;
}

// Owner: one call of place_by_metis.
class Divider {
 public:
  explicit Divider(const WeightedGraph& graph) : graph_(graph), local_(graph.vertices()) {}

  // The atoms of each of `parts` parts, ascending.
  std::vector<std::vector<std::uint32_t>> divide_atoms(std::span<const std::uint32_t> atoms,
                                                       std::uint32_t parts) {
    std::vector<std::vector<std::uint32_t>> out(parts);
    if (parts == 1) {
      out[0].assign(atoms.begin(), atoms.end());
      return out;
    }
    if (atoms.size() <= parts) {  // METIS wants more atoms than parts
      for (std::size_t i = 0; i < atoms.size(); ++i) out[i].push_back(atoms[i]);
      return out;
    }
    for (std::uint32_t i = 0; i < atoms.size(); ++i) local_[atoms[i]] = i + 1;
    const std::vector<idx_t> part = divide(subgraph_on(atoms, graph_, local_), parts);
    for (std::size_t i = 0; i < atoms.size(); ++i) {
      out[static_cast<std::size_t>(part[i])].push_back(atoms[i]);
      local_[atoms[i]] = 0;
    }
    return out;
  }

 private:
  const WeightedGraph& graph_;
  std::vector<std::uint32_t> local_;  // of the atoms under division, index + 1; 0: another's
};

}  // namespace

core::Placement place_by_metis(const WeightedGraph& graph, const PlacementRequest& request) {
  EXAWARP_CHECK(request.atoms == graph.vertices(), request.atoms, graph.vertices());
  core::Placement placement = place_in_blocks(request);
  const std::vector<std::uint32_t> connected = deal_out_idle_atoms(graph, placement);
  Divider divider(graph);
  const auto by_rank = divider.divide_atoms(connected, request.ranks);
  for (std::uint32_t rank = 0; rank < request.ranks; ++rank) {
    const auto parts = divider.divide_atoms(by_rank[rank], request.partitions_per_rank);
    for (std::uint32_t p = 0; p < request.partitions_per_rank; ++p)
      for (const std::uint32_t atom : parts[p])
        placement.partition_of_atom[atom] =
            static_cast<std::uint16_t>(rank * request.partitions_per_rank + p);
  }
  return placement;
}

}  // namespace exawarp::partition
