// Nodes on a fat tree: what message fidelity tells by division is what the topology's routes say.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>

#include "model/network/message/network.h"
#include "model/topology/fabric.h"

namespace exawarp::tests {
namespace {

using core::DeviceId;
using core::Time;
using model::Tier;
using model::VertexId;

struct Grid {
  std::uint32_t devices_of_a_node, devices_of_a_leaf, leaves_of_a_pod, spines, cores, devices;
};

model::Fabric fabric_of(const Grid& g) {
  return model::nodes_on_a_fat_tree(
      {.name = "n", .devices = g.devices_of_a_node, .planes = 2,
       .bandwidth_bytes_per_s = 400'000'000'001, .latency = Time{1'000'003}},
      {.devices_per_leaf = g.devices_of_a_leaf,
       .groups_per_pod = g.leaves_of_a_pod,
       .spines_per_pod = g.spines,
       .cores = g.cores,
       .host = {"link", 50'000'000'000, Time{10'000}},
       .latencies = {.forwarding = Time{300'000}, .endpoint = Time{2'000'000}}},
      "f");
}

struct Walk {
  std::uint32_t links = 0;
  Time latency;
};

// Along the first of the minimal ports of each vertex.
Walk walk(const model::Topology& topology, DeviceId from, DeviceId to) {
  Walk out;
  for (VertexId at{from.value}; at.value != to.value; ++out.links) {
    if (out.links != 0) out.latency += topology.forwarding_latency(at);
    const model::Link link = topology.link(at, topology.minimal(at, {to.value})[0]);
    out.latency += topology.link_kinds()[link.kind].latency;
    at = link.peer;
  }
  return out;
}

// Every pair of devices; returns whether each tier is between some two of them.
std::array<bool, model::kTierCount> compare(const Grid& g) {
  constexpr std::array<std::uint32_t, model::kTierCount> kLinks{2, 2, 4, 6};
  const model::Fabric fabric = fabric_of(g);
  const model::Network network(fabric, g.devices);
  const std::unique_ptr<model::Topology> topology = model::make_topology(fabric, g.devices);
  std::array<bool, model::kTierCount> seen{};
  EXPECT_EQ(network.bandwidth(model::Interface::node), 400'000'000'001);
  std::uint32_t nvswitches = 0;
  if (g.devices_of_a_node > 1) {
    nvswitches = 2 * ((g.devices + g.devices_of_a_node - 1) / g.devices_of_a_node);
  }
  EXPECT_EQ(network.switches() + nvswitches, topology->switches());
  for (std::uint32_t a = 0; a < g.devices; ++a) {
    for (std::uint32_t b = 0; b < g.devices; ++b) {
      if (a == b) continue;
      const Tier tier = network.tier_between({a}, {b});
      const Walk way = walk(*topology, {a}, {b});
      const model::Distance& distance =
          topology->distances()[topology->message_route({a}, {b}).distance];
      EXPECT_EQ(way.links, kLinks[static_cast<std::size_t>(tier)]) << a << " to " << b;
      EXPECT_EQ(way.latency + distance.endpoint, network.latency(tier)) << a << " to " << b;
      EXPECT_EQ(distance.latency, way.latency) << a << " to " << b;
      seen[static_cast<std::size_t>(tier)] = true;
    }
  }
  return seen;
}

TEST(FatTreeProperty, TheTierOfTwoDevicesIsThatOfTheRouteBetweenThem) {
  std::array<std::uint32_t, model::kTierCount> grids_with{};
  for (const std::uint32_t node : {1u, 2u, 3u, 4u}) {
    for (const std::uint32_t nodes_of_a_leaf : {1u, 3u}) {
      for (const std::uint32_t leaves : {1u, 2u, 3u}) {
        for (const std::uint32_t cores : {0u, 3u}) {
          for (const std::uint32_t devices : {1u, 7u, 24u, 41u}) {
            const Grid g{node, node * nodes_of_a_leaf, leaves, 2, cores, devices};
            SCOPED_TRACE(testing::Message()
                         << node << " a node, " << g.devices_of_a_leaf << " a leaf, " << leaves
                         << " leaves a pod, " << cores << " cores, " << devices << " devices");
            const auto seen = compare(g);
            for (std::size_t t = 0; t < seen.size(); ++t) grids_with[t] += seen[t] ? 1 : 0;
            if (testing::Test::HasFailure()) return;
          }
        }
      }
    }
  }
  for (const std::uint32_t grids : grids_with) EXPECT_GE(grids, 20u);  // no tier is left out
}

// Where message fidelity looks, and where it does not: the least latency across nodes bounds that
// of all pairs of different atoms.
TEST(FatTreeProperty, NoMessageBetweenAtomsIsFasterThanTheLookahead) {
  for (const std::uint32_t node : {1u, 2u, 3u, 4u}) {
    for (const std::uint32_t nodes_of_a_leaf : {1u, 2u}) {
      for (const std::uint32_t leaves : {1u, 2u}) {
        const model::Fabric fabric = fabric_of({node, node * nodes_of_a_leaf, leaves, 2, 0, 24});
        const model::Network network(fabric, 24);
        const std::uint32_t shift = network.layout().atom_shift();
        Time least = Time::max();
        for (std::uint32_t a = 0; a < 24; ++a) {
          for (std::uint32_t b = 0; b < 24; ++b) {
            if (a >> shift == b >> shift) continue;
            least = std::min(least, network.latency(network.tier_between({a}, {b})));
          }
        }
        EXPECT_EQ(network.least_latency_between_atoms(), least) << node << ", " << leaves;
      }
    }
  }
}

}  // namespace
}  // namespace exawarp::tests
