// Topologies against figures from the literature, or counted by hand.
#include <gtest/gtest.h>

#include <vector>

#include "core/error.h"
#include "model/topology/planes.h"
#include "tests/support/topologies.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::DeviceId;
using core::Time;

const LinkKind kLink = tests::link_kind("link", 50, 10);
constexpr std::int64_t kRate = 50'000'000'000;
constexpr NodeLatencies kLatencies = tests::kLatencies;

ClosSpec plain_clos(std::uint32_t per_leaf, std::uint32_t spines, std::uint32_t per_pod = 0) {
  ClosSpec s{.devices_per_leaf = per_leaf, .groups_per_pod = per_pod, .spines_per_pod = spines};
  s.host = s.leaf_spine = s.spine_core = kLink;
  s.latencies = kLatencies;
  return s;
}

// Al-Fares et al.: k pods of k/2 leaves and k/2 spines, (k/2)^2 cores, k^3/4 hosts, full bisection.
TEST(FatTreeOfFourPortSwitches, HasTwentySwitchesAndFullBisection) {
  const Clos tree(plain_clos(2, 2, 2), 16);
  const TopologyCounts counts = tree.counts();
  EXPECT_EQ(counts.switches, 20u);
  EXPECT_EQ(tree.cores(), 4u);
  EXPECT_EQ(counts.links, 48u);
  EXPECT_EQ(counts.diameter_links, 6u);
  EXPECT_EQ(counts.bisection_bytes_per_s, 8 * kRate);
  for (std::uint32_t s = 0; s < 20; ++s) EXPECT_EQ(tree.ports(tree.vertex_of_switch(s)), 4u);
}

TEST(LeafSpine, OversubscribedFourToOneHasAQuarterOfTheBisection) {
  const Clos tree(plain_clos(16, 4), 128);
  EXPECT_EQ(tree.counts().bisection_bytes_per_s, 16 * kRate);  // 4 leaves of 4 up-links
  EXPECT_EQ(tree.minimal(tree.vertex_of_switch(0), {100}).size(), 4u);
}

TEST(FatTree, LatencyIsThatOfLinksAndSwitches) {
  const Clos tree(plain_clos(2, 2, 2), 16);
  const auto latency = [&](std::uint32_t b) {
    return tree.distances()[tree.message_route({0}, {b}).distance].latency;
  };
  EXPECT_EQ(latency(1), Time{1 * 300'000 + 2 * 10'000});
  EXPECT_EQ(latency(2), Time{3 * 300'000 + 4 * 10'000});
  EXPECT_EQ(latency(4), Time{5 * 300'000 + 6 * 10'000});
  EXPECT_EQ(tree.distances()[0].endpoint, Time{2'000'000});
}

// 64 nodes of 8, blocks of 32 nodes: a leaf a rail and block.
TEST(RailOptimised, GivesEachRailItsOwnLeaves) {
  ClosSpec s = plain_clos(32, 32);
  s.rails = 8;
  const Clos net(s, 512);
  EXPECT_EQ(net.leaves(), 16u);
  EXPECT_EQ(net.link({0}, 0).peer.value, net.link({31 * 8}, 0).peer.value);   // rail 0, block 0
  EXPECT_NE(net.link({0}, 0).peer.value, net.link({1}, 0).peer.value);        // another rail
  EXPECT_NE(net.link({0}, 0).peer.value, net.link({32 * 8}, 0).peer.value);   // another block
}

TEST(RailOnly, CrossesNvlinkFirstToTheDeviceOfTheDestinationsRail) {
  ClosSpec s = plain_clos(4, 0);
  s.rails = 4;
  s.rails_apart = true;
  const NodesSpec n{.devices = 4, .rails_cross_nvlink = true};
  const Nodes net(n, std::make_unique<Clos>(s, 16));
  const VertexId nvswitch = net.link({1}, 0).peer;
  EXPECT_EQ(net.minimal({1}, {14})[0], 0u);                      // rank 1 to rank 2 of node 3
  EXPECT_EQ(net.link(nvswitch, net.minimal(nvswitch, {14})[0]).peer.value, 2u);
  EXPECT_EQ(net.minimal({2}, {14})[0], 1u);                      // now across
  EXPECT_EQ(net.distances()[net.message_route({1}, {14}).distance].links, 4u);
}

TEST(DualPlane, DoublesTheLinksAndKeepsThePathLengths) {
  const Planes net(2, std::make_unique<Clos>(plain_clos(4, 2), 16));
  EXPECT_EQ(net.counts().links, 2u * (16 + 8));
  EXPECT_EQ(net.counts().diameter_links, 4u);
  EXPECT_EQ(net.minimal({0}, {9}).size(), 2u);
}

TEST(Torus, OfFourByFourByFourHas192LinksAndABisectionOf32) {
  const Torus torus({{4, 4, 4}, true, kLink, kLatencies});
  EXPECT_EQ(torus.counts().links, 192u);
  EXPECT_EQ(torus.counts().diameter_links, 6u);
  EXPECT_EQ(torus.counts().bisection_bytes_per_s, 32 * kRate);
  const Torus mesh({{4, 4, 4}, false, kLink, kLatencies});
  EXPECT_EQ(mesh.counts().links, 144u);
  EXPECT_EQ(mesh.counts().diameter_links, 9u);
  EXPECT_EQ(mesh.counts().bisection_bytes_per_s, 16 * kRate);
}

TEST(Torus, ChangesTheChannelAtTheDatelineAndBackInTheNextDimension) {
  const Torus torus({{5, 5}, true, kLink, kLatencies});
  // Device 4 = (4, 0): port 0 leads up over the wrap link to (0, 0), port 2 up to (4, 1).
  EXPECT_EQ(torus.next_channel({4}, 4, 0, 0), 1u);  // starts over the dateline
  EXPECT_EQ(torus.next_channel({4}, 1, 0, 0), 1u);  // came up from (3, 0)
  EXPECT_EQ(torus.next_channel({0}, 1, 0, 1), 1u);  // goes on behind it
  EXPECT_EQ(torus.next_channel({1}, 1, 2, 1), 0u);  // turns into the second dimension
  EXPECT_EQ(torus.next_channel({1}, 3, 0, 0), 2u);  // back to the first one: behind a waypoint
}

// Kim et al.: a = 2p = 2h, g = ah + 1.
TEST(Dragonfly, OfFourRoutersAGroupConnects72DevicesInFiveLinks) {
  const Dragonfly net({2, 4, 2, 9, GlobalLinks::absolute, kLink, kLink, kLink, kLatencies});
  EXPECT_EQ(net.devices(), 72u);
  EXPECT_EQ(net.counts().switches, 36u);
  EXPECT_EQ(net.counts().links, 72u + 9 * 6 + 36);
  EXPECT_EQ(net.counts().diameter_links, 5u);
  EXPECT_EQ(net.counts().bisection_bytes_per_s, 20 * kRate);  // 4 x 5 pairs of groups
}

TEST(Dragonfly, LinksGroupsAsTheArrangementSays) {
  const auto group_behind = [](GlobalLinks arrangement, std::uint32_t group, std::uint32_t q) {
    const Dragonfly net({2, 4, 2, 9, arrangement, kLink, kLink, kLink, kLatencies});
    const Link link = net.link(net.vertex_of_switch(group * 4 + q / 2), 2 + 3 + q % 2);
    return (link.peer.value - net.devices()) / 4;
  };
  EXPECT_EQ(group_behind(GlobalLinks::absolute, 3, 2), 2u);
  EXPECT_EQ(group_behind(GlobalLinks::absolute, 3, 3), 4u);
  EXPECT_EQ(group_behind(GlobalLinks::relative, 3, 0), 4u);
  EXPECT_EQ(group_behind(GlobalLinks::relative, 3, 6), 1u);
}

TEST(Dragonfly, SharesItsGlobalLinksEvenlyWhereThereAreFewerGroups) {
  const Dragonfly net({2, 4, 2, 5, GlobalLinks::relative, kLink, kLink, kLink, kLatencies});
  EXPECT_EQ(net.links_of_a_pair(), 2u);
}

// Ahn et al.: L = 2, S = 4, K = 1, T = 4.
TEST(HyperX, OfTwoDimensionsReachesEverySwitchInTwoLinks) {
  const HyperX net({{4, 4}, {1, 1}, 4, kLink, kLink, kLatencies});
  EXPECT_EQ(net.devices(), 64u);
  EXPECT_EQ(net.counts().links, 64u + 2 * 4 * 6);
  EXPECT_EQ(net.counts().diameter_links, 4u);
  EXPECT_EQ(net.counts().bisection_bytes_per_s, 4 * 4 * kRate);  // 4 rows of 2 x 2
  EXPECT_EQ(net.virtual_channels(), 4u);
}

TEST(Nvlink, DomainOf72HasOneSwitchHop) {
  const NodesSpec n{.devices = 72, .planes = 18};
  const Nodes net(n, std::make_unique<Clos>(plain_clos(36, 4), 144));
  EXPECT_EQ(net.minimal({0}, {71}).size(), 18u);
  EXPECT_EQ(net.minimal({0}, {72}).size(), 1u);
  EXPECT_EQ(net.counts().switches, 4u + 4 + 36);
}

TEST(Graph, NamesTwoDevicesThatNothingConnects) {
  GraphSpec s{.devices = 3, .switches = 1, .kinds = {kLink}};
  s.wires = {{{0}, {3}, 0}, {{1}, {3}, 0}};
  try {
    Graph graph(s, "net.yaml:3");
    FAIL() << "accepted";
  } catch (const core::InputError& error) {
    EXPECT_STREQ(error.what(),
                 "net.yaml:3: no path between devices 0 and 2; expected a connected graph, or "
                 "devices_forward: true");
  }
}

TEST(Graph, FindsItsCutByFlow) {
  GraphSpec s{.devices = 4, .switches = 2, .kinds = {kLink, tests::link_kind("slow", 10, 5)}};
  s.wires = {{{0}, {4}, 0}, {{1}, {4}, 0}, {{2}, {5}, 0}, {{3}, {5}, 0}, {{4}, {5}, 1}};
  const Graph graph(s, "");
  EXPECT_EQ(graph.counts().bisection_bytes_per_s, 10'000'000'000);
  EXPECT_EQ(graph.distances()[graph.message_route({0}, {3}).distance].bandwidth_bytes_per_s,
            10'000'000'000);
}

}  // namespace
}  // namespace exawarp::tests
