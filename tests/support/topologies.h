// Small topologies of every family, with what a test must know of each, and a look at a topology
// that knows only its links.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "model/network/faults/link_faults.h"
#include "model/topology/fabric.h"

namespace exawarp::tests {

struct TopologyCase {
  std::string name;
  std::function<std::unique_ptr<model::Topology>()> make;
  bool devices_forward = false;
  // Whether minimal() is exactly the shortest paths of the graph (by `weight`); a family that
  // prefers NVSwitch, or one of two networks, gives fewer.
  bool finds_all_shortest = true;
  // Which devices are the first half of the stated cut.
  std::function<bool(std::uint32_t)> first_half;
  // How long a link of a kind counts, where the family's measure is not their number.
  std::vector<std::uint64_t> weight_of_kind;
  // Whether the stated cut is least even where switches choose their side; else links are counted
  // between halves of whole groups (switches of a device's group are on its side).
  bool cut_is_least = true;
};
inline void PrintTo(const TopologyCase& c, std::ostream* out) { *out << c.name; }

// Every family, with even, odd and least sizes. All of them have at most a few hundred vertices.
std::vector<TopologyCase> topology_cases();

// Lengths of the shortest paths from every vertex to `to`, by search.
std::vector<std::uint64_t> lengths_to(const model::Topology& topology, model::VertexId to,
                                      const TopologyCase& c);

// Whether each device has a way to each other one over links that never fail, by search.
bool devices_are_connected(const model::Topology& topology, const model::LinkFaults& faults);

// Channels by number, and those that a packet in one may wait for.
using Waits = std::map<std::uint64_t, std::set<std::uint64_t>>;
bool has_cycle(const Waits& waits);

model::LinkKind link_kind(const char* name, std::int64_t gigabytes_per_s,
                          std::int64_t nanoseconds);
constexpr model::NodeLatencies kLatencies{core::Time{300'000}, core::Time{2'000'000}};

}  // namespace exawarp::tests
