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
  bool (*on_tree)(schema::CollectiveType type) = nullptr;  // nullptr: members exchange

  // As the functions of collective.h and cost.h of the same names, for two members or more.
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
// Whether data of this collective moves up and down a tree.
inline bool runs_on_tree(const Collective& c) {
  const AlgorithmDescription& a = description_of(c.algorithm);
  return a.on_tree != nullptr && a.on_tree(c.type);
}

}  // namespace exawarp::model
