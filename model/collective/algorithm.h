// What an algorithm of collectives is: one description, in one file of algorithms/, called as
// studies call it. The build lists the folder: the enumeration, the names and the table of all
// descriptions follow from it, in the order of the names. To add one: algorithms/NAME.cc which
// defines `constexpr AlgorithmDescription algorithms::NAME`, its test, and its line in
// docs/reference/collectives.md.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/time.h"
#include "model/collective/collective.h"
#include "model/collective/ring.h"
#include "model/collective/tree_steps.h"

namespace exawarp::model {

template <class... Types>
constexpr std::uint32_t set_of(Types... types) {
  return ((1u << static_cast<unsigned>(types)) | ...);
}

struct AlgorithmDescription {
  std::uint32_t types = 0;  // that it can run, by set_of()
  int place = 100;          // in lists: by this, then by name
  bool uses_lanes = false;
  bool lanes_in_pairs = false;    // an even number of lanes
  bool lanes_share_data = false;  // a message is a member's share of a lane, not all of it
  bool takes_sizes = true;        // all-to-all whose messages differ
  bool turns = false;             // members do the same, each from its own position on
  // Messages of one size go from each member to its neighbour, once a phase; types of tree_types
  // apart. So lanes may run either way, and a closed walk over the members gives the time.
  bool goes_round = false;
  bool by_nodes = false;  // steps depend on who shares a node (Collective::node_members)
  bool meets_by_nodes = false;  // partners are met node by node (exchange.h); else by position
  // Types whose data moves up and down a tree, and the tree of a lane. What members do follows from
  // it (tree_steps.h), so that an algorithm of trees alone has no functions for that.
  std::uint32_t tree_types = 0;
  TreeKind (*tree_of)(std::uint32_t lane) = nullptr;

  // As the functions of collective.h and cost.h of the same names, for two members or more; the
  // first three for types outside tree_types alone.
  std::uint32_t (*phase_count)(const Collective& c, std::uint32_t position,
                               std::uint32_t lane) = nullptr;
  Phase (*phase_of)(const Collective& c, std::uint32_t position, std::uint32_t lane,
                    std::uint32_t phase) = nullptr;
  Transfer (*transfer_of)(const Collective& c, std::uint32_t position, std::uint32_t lane,
                          std::uint32_t phase, std::uint32_t index) = nullptr;
  core::Time (*time)(const Collective& c, const StepCost& cost) = nullptr;
  std::uint64_t (*messages)(const Collective& c) = nullptr;
};

// The table, by Algorithm.
const AlgorithmDescription& description_of(Algorithm algorithm);
// All, in the order of lists.
std::vector<Algorithm> listed_algorithms();
constexpr std::string_view name_of(Algorithm algorithm) {
  return kAlgorithmNames[static_cast<std::size_t>(algorithm)];
}
// Whether data of this collective, of which `a` is the algorithm, moves up and down a tree.
inline bool moves_on_tree(const AlgorithmDescription& a, const Collective& c) {
  return (a.tree_types & set_of(c.type)) != 0;
}
inline bool runs_on_tree(const Collective& c) {
  return moves_on_tree(description_of(c.algorithm), c);
}
// Whether data goes into the network, which combines it; members send each other notices.
inline bool runs_in_network(const Collective& c) {
  const AlgorithmDescription& a = description_of(c.algorithm);
  return moves_on_tree(a, c) && a.tree_of(0).in_network;
}
// Whether data goes from member to member along a chain, lane by lane.
inline bool runs_on_chain(const Collective& c) {
  const AlgorithmDescription& a = description_of(c.algorithm);
  return moves_on_tree(a, c) && a.tree_of(0).shape == TreeShape::chain;
}
inline bool runs_round(const Collective& c) {
  const AlgorithmDescription& a = description_of(c.algorithm);
  return a.goes_round && !moves_on_tree(a, c);
}
// Whether in each phase a member's messages go to the same members as in the first, and are as
// long.
inline bool phases_are_alike(const Collective& c) { return runs_round(c) && c.sizes.empty(); }

}  // namespace exawarp::model
