#include "model/network/message/network.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "model/network/message/message.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::DeviceId;
using core::Time;

TEST(FatTree, CountsSwitchesByTier) {
  const Clos tree(*tests::round_fabric().clos(), 40);  // 8 a leaf, 2 leaves a pod
  EXPECT_EQ(tree.leaves(), 5u);
  EXPECT_EQ(tree.pods(), 3u);
  EXPECT_EQ(tree.spines(), 6u);
  EXPECT_EQ(tree.cores(), 4u);  // 2 spines x 2 up-links
  EXPECT_EQ(tree.switches(), 15u);
}

TEST(FatTree, HasNoSpineAboveOneLeafAndNoCoreAboveOnePod) {
  EXPECT_EQ(Clos(*tests::round_fabric().clos(), 8).switches(), 1u);
  EXPECT_EQ(Clos(*tests::round_fabric().clos(), 16).switches(), 4u);
}

TEST(FatTree, TakesTheCoresItIsGiven) {
  ClosSpec tree = *tests::round_fabric().clos();
  tree.cores = 7;
  EXPECT_EQ(Clos(tree, 40).cores(), 7u);
}

TEST(FatTree, PathsPassOneThreeOrFiveSwitches) {
  const Fabric fabric = tests::round_fabric();
  const ClosSpec& tree = *fabric.clos();
  EXPECT_EQ(path_over_tier(tree, Tier::leaf).switches, 1u);
  EXPECT_EQ(path_over_tier(tree, Tier::pod).switches, 3u);
  EXPECT_EQ(path_over_tier(tree, Tier::core).switches, 5u);
  EXPECT_EQ(path_over_tier(tree, Tier::core).links, 6u);
}

TEST(Network, FindsTheTierOfTwoDevices) {
  const Network network(tests::round_fabric(), 40);
  EXPECT_EQ(network.tier_between(DeviceId{0}, DeviceId{3}), Tier::node);
  EXPECT_EQ(network.tier_between(DeviceId{3}, DeviceId{4}), Tier::leaf);
  EXPECT_EQ(network.tier_between(DeviceId{7}, DeviceId{8}), Tier::pod);
  EXPECT_EQ(network.tier_between(DeviceId{16}, DeviceId{15}), Tier::core);
}

TEST(Network, AddsUpTheLatencyOfAPath) {
  const Network network(tests::round_fabric(), 40);
  EXPECT_EQ(network.latency(Tier::node), tests::kNodeLatency);
  EXPECT_EQ(network.latency(Tier::leaf), tests::kLeafLatency);
  EXPECT_EQ(network.latency(Tier::pod), tests::kPodLatency);
  EXPECT_EQ(network.latency(Tier::core), tests::kCoreLatency);
}

TEST(Network, OccupiesAnInterfaceForAPicosecondAtLeast) {
  const Network network(tests::round_fabric(), 40);
  EXPECT_EQ(network.wire_time(0, Interface::node), Time{1});
  EXPECT_EQ(network.wire_time(3, Interface::scale_out), Time{300});
}

TEST(Network, LooksAheadByTheLeastLatencyBetweenAtoms) {
  Fabric fabric = tests::round_fabric();
  EXPECT_EQ(Network(fabric, 40).least_latency_between_atoms(), tests::kLeafLatency);
  fabric.nodes->devices = 6;  // no power of two: every device is an atom
  EXPECT_EQ(Network(fabric, 40).least_latency_between_atoms(), tests::kNodeLatency);
  fabric.nodes->devices = 8;  // a node fills a leaf
  EXPECT_EQ(Network(fabric, 40).least_latency_between_atoms(), tests::kPodLatency);
}

TEST(Network, RefusesAFabricWithoutBandwidth) {
  Fabric fabric = tests::round_fabric();
  tests::tree_of(fabric).host.bandwidth_bytes_per_s = 0;
  try {
    Network network(fabric, 8);
    FAIL() << "accepted";
  } catch (const core::InputError& error) {
    EXPECT_STREQ(error.what(), "fabric \"round fabric\": bandwidth: not above 0 B/s");
  }
}

TEST(Interface, SendsOneMessageAfterTheOther) {
  EXPECT_EQ(sent_at(Time{10}, Time{0}, Time{5}), Time{15});
  EXPECT_EQ(sent_at(Time{10}, Time{15}, Time{5}), Time{20});
}

}  // namespace
}  // namespace exawarp::tests
