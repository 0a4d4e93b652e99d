// Choices of ports by each routing policy: even, repeatable, independent between switches.
#include "model/network/packet/routing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "model/topology/clos.h"
#include "tests/support/topologies.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::DeviceId;

PortChoices choices(std::initializer_list<PortChoices::Range> ranges) {
  PortChoices out;
  for (const PortChoices::Range r : ranges) out.add(r.first, r.count);
  return out;
}

// Pearson's statistic against the uniform distribution.
double chi_square(const std::vector<std::uint64_t>& counts) {
  double total = 0, sum = 0;
  for (const std::uint64_t n : counts) total += static_cast<double>(n);
  const double expected = total / static_cast<double>(counts.size());
  for (const std::uint64_t n : counts) {
    sum += (static_cast<double>(n) - expected) * (static_cast<double>(n) - expected) / expected;
  }
  return sum;
}

// Its 99.9 % quantile, Wilson and Hilferty's approximation (PNAS 17, 1931).
double chi_square_bound(std::size_t degrees) {
  const double k = static_cast<double>(degrees), h = 2 / (9 * k);
  const double root = 1 - h + 3.09 * std::sqrt(h);
  return k * root * root * root;
}

TEST(PortChoices, JoinsNeighbouringRangesAndSkipsEmptyOnes) {
  const PortChoices ports = choices({{2, 3}, {5, 1}, {9, 0}, {8, 2}});
  EXPECT_EQ(ports.ranges().size(), 2u);
  ASSERT_EQ(ports.size(), 6u);
  EXPECT_EQ(ports[0], 2u);
  EXPECT_EQ(ports[3], 5u);
  EXPECT_EQ(ports[4], 8u);
  EXPECT_EQ(ports[5], 9u);
}

TEST(Ecmp, KeepsAFlowOnOnePortAndTellsItsLabelsApart) {
  const PortChoices ports = choices({{0, 64}});
  const std::uint64_t hash = flow_hash(7, {DeviceId{3}, DeviceId{9}, 0});
  EXPECT_EQ(hash, flow_hash(7, {DeviceId{3}, DeviceId{9}, 0}));
  EXPECT_EQ(ecmp_port(ports, hash, {5}), ecmp_port(ports, hash, {5}));
  EXPECT_NE(hash, flow_hash(7, {DeviceId{3}, DeviceId{9}, 1}));
  EXPECT_NE(hash, flow_hash(8, {DeviceId{3}, DeviceId{9}, 0}));
  EXPECT_NE(hash, flow_hash(7, {DeviceId{9}, DeviceId{3}, 0}));
}

TEST(Ecmp, SpreadsFlowsEvenly) {
  for (const std::uint32_t size : {2u, 3u, 16u, 64u}) {
    std::vector<std::uint64_t> counts(size);
    const PortChoices ports = choices({{4, size}});
    for (std::uint32_t a = 0; a < 200; ++a) {
      for (std::uint32_t b = 0; b < 200; ++b) {
        ++counts[ecmp_port(ports, flow_hash(1, {DeviceId{a}, DeviceId{b}, 0}), {1000}) - 4];
      }
    }
    EXPECT_LT(chi_square(counts), chi_square_bound(size - 1)) << size;
  }
}

TEST(Ecmp, ChoosesAtOneSwitchIndependentlyOfTheOneBefore) {
  std::vector<std::uint64_t> pairs(64);
  const PortChoices ports = choices({{0, 8}});
  for (std::uint32_t flow = 0; flow < 40'000; ++flow) {
    const std::uint64_t hash = flow_hash(1, {DeviceId{flow % 512}, DeviceId{flow / 512}, 0});
    ++pairs[ecmp_port(ports, hash, {1000}) * 8 + ecmp_port(ports, hash, {1001})];
  }
  EXPECT_LT(chi_square(pairs), chi_square_bound(63));
}

TEST(Spraying, SpreadsPacketsEvenlyAndRepeatsForTheSameDraw) {
  std::vector<std::uint64_t> counts(5);
  const PortChoices ports = choices({{1, 2}, {7, 3}});
  std::map<std::uint32_t, std::size_t> index{{1, 0}, {2, 1}, {7, 2}, {8, 3}, {9, 4}};
  for (std::uint64_t draw = 0; draw < 50'000; ++draw) {
    ++counts[index.at(sprayed_port(ports, 42, draw))];
    EXPECT_EQ(sprayed_port(ports, 42, draw), sprayed_port(ports, 42, draw));
  }
  EXPECT_LT(chi_square(counts), chi_square_bound(4));
}

TEST(DestinationSpread, GivesEveryUpLinkOfAFatTreeTheSameNumberOfDestinations) {
  ClosSpec spec{.devices_per_leaf = 4, .groups_per_pod = 4, .spines_per_pod = 4};
  spec.host = spec.leaf_spine = spec.spine_core = tests::link_kind("link", 50, 10);
  const Clos tree(spec, 64);
  const VertexId leaf = tree.vertex_of_switch(0);
  std::map<std::uint32_t, int> at_leaf;
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> at_spine;
  for (std::uint32_t d = 16; d < 64; ++d) {  // of the other three pods
    const std::uint32_t up = destination_port(tree.minimal(leaf, {d}), tree.spread(leaf, {d}));
    const VertexId spine = tree.link(leaf, up).peer;
    ++at_leaf[up];
    ++at_spine[{spine.value, destination_port(tree.minimal(spine, {d}), tree.spread(spine, {d}))}];
  }
  ASSERT_EQ(at_leaf.size(), 4u);
  for (const auto& [port, destinations] : at_leaf) EXPECT_EQ(destinations, 12) << port;
  ASSERT_EQ(at_spine.size(), 16u);
  for (const auto& [port, destinations] : at_spine) EXPECT_EQ(destinations, 3);
}

TEST(Adaptive, TakesTheShortestQueue) {
  const std::vector<std::uint64_t> depths{0, 9, 5, 7, 0, 4, 4};
  const auto depth = [&](std::uint32_t port) { return depths[port]; };
  for (std::uint64_t draw = 0; draw < 20; ++draw) {
    EXPECT_EQ(adaptive_port(choices({{1, 3}, {5, 0}}), depth, core::random_bits(1, draw)), 2u);
  }
}

TEST(Adaptive, TakesOneOfEqualQueuesAtRandom) {
  const auto depth = [](std::uint32_t) { return 3; };
  std::vector<std::uint64_t> counts(8);
  for (std::uint64_t draw = 0; draw < 16'000; ++draw) {
    ++counts[adaptive_port(choices({{0, 3}, {4, 4}}), depth, core::random_bits(1, draw))];
  }
  EXPECT_EQ(counts[3], 0u);
  counts.erase(counts.begin() + 3);
  EXPECT_LT(chi_square(counts), chi_square_bound(6));
}

TEST(Valiant, GoesThroughEveryRouterOfOtherGroupsAndThroughNoneInAFatTree) {
  const Dragonfly dragonfly({2, 4, 2, 9, GlobalLinks::absolute, tests::link_kind("a", 50, 1),
                             tests::link_kind("b", 50, 1), tests::link_kind("c", 50, 1), {}});
  std::map<std::uint32_t, int> seen;
  for (std::uint64_t draw = 0; draw < 2'000; ++draw) {
    const VertexId w =
        valiant_waypoint(dragonfly, DeviceId{0}, DeviceId{70}, core::random_bits(1, draw));
    ++seen[w.value - dragonfly.devices()];
  }
  EXPECT_EQ(seen.size(), 28u);           // 9 - 2 groups of 4 routers
  EXPECT_EQ(seen.begin()->first, 4u);    // not the source's group 0
  EXPECT_EQ(seen.rbegin()->first, 31u);  // nor the destination's group 8
  const Clos leaf({.devices_per_leaf = 4, .host = tests::link_kind("a", 50, 1)}, 4);
  EXPECT_EQ(valiant_waypoint(leaf, DeviceId{0}, DeviceId{1}, 0).value, 1u);
}

TEST(Ugal, WeighsQueuesByLinksAndFavoursTheMinimalPathByItsBias) {
  const Candidate minimal{.queue_bytes = 1'000, .links = 5};
  EXPECT_TRUE(takes_detour(minimal, {.queue_bytes = 600, .links = 8}, 0));
  EXPECT_FALSE(takes_detour(minimal, {.queue_bytes = 625, .links = 8}, 0));
  EXPECT_FALSE(takes_detour(minimal, {.queue_bytes = 600, .links = 8}, 200));
}

TEST(Ugal, CountsLinksOfAMinimalPath) {
  const Torus torus({{4, 4}, true, tests::link_kind("a", 50, 1), {}});
  EXPECT_EQ(links_between(torus, {0}, {10}), 4u);  // (0, 0) to (2, 2)
  EXPECT_EQ(links_between(torus, {0}, {15}), 2u);  // (3, 3), both ways around
  EXPECT_EQ(links_between(torus, {6}, {6}), 0u);
}

}  // namespace
}  // namespace exawarp::tests
