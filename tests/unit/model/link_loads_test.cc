// What links are asked for: against closed forms, and against flows, which share links.
#include "model/link_loads.h"

#include <gtest/gtest.h>

#include "model/topology/even_spread.h"
#include "model/workload/validate.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::DeviceId;
using core::Time;
using schema::CollectiveType;

constexpr std::int64_t kRate = 10'000'000'000;  // bytes/s
const LinkKind kLine{"line", kRate, Time{500'000}};
constexpr NodeLatencies kSoftware{.forwarding = Time{300'000}, .endpoint = Time{1'000'000}};

Fabric alone(decltype(FamilySpec::shape) shape) {
  return {.networks = {{.shape = std::move(shape), .place = "t"}}, .place = "t"};
}

// Leaves of eight devices with two links up, as fast as the devices': 4 to 1.
Fabric four_to_one() {
  return alone(ClosSpec{.devices_per_leaf = 8,
                        .spines_per_pod = 2,
                        .host = kLine,
                        .leaf_spine = kLine,
                        .spine_core = kLine,
                        .latencies = kSoftware});
}
Fabric ring_of_links() {
  return alone(TorusSpec{.dims = {8}, .link = kLine, .latencies = kSoftware});
}

std::vector<LinkLoad> loads_of(const WorkloadGraph& graph, const Fabric& fabric,
                               const ClusterOptions& options = {}) {
  return link_loads(Cluster(graph, tests::round_accelerator(), fabric, options));
}

ClusterOptions by_flows() {
  ClusterOptions options;
  options.flows.emplace();
  options.flows->routing.policy = "destination";
  return options;
}

ClusterOptions all_at_once() {
  ClusterOptions options;
  options.collectives.resize(1);
  options.collectives[0].choice.algorithm = Algorithm::direct;
  return options;
}

Time time_of(const WorkloadGraph& graph, const Fabric& fabric, const ClusterOptions& options) {
  const Cluster cluster(graph, tests::round_accelerator(), fabric, options);
  return tests::run_cluster(cluster).outcome.simulated_time();
}

// Every device sends `bytes` to the one `shift` further, `repeats` times.
WorkloadGraph shifted(std::uint32_t devices, std::uint32_t shift, std::uint64_t bytes,
                      std::uint32_t repeats = 1) {
  return tests::collectives(CollectiveType::PERMUTE, devices, bytes, repeats, shift);
}

TEST(LinkLoads, FlowsTakeAsManyTimesLonger) {
  constexpr std::int64_t kBytes = 80'000'000;  // 8 ms
  const WorkloadGraph graph = shifted(32, 8, kBytes);
  const std::vector<LinkLoad> loads = loads_of(graph, four_to_one());
  ASSERT_EQ(loads.size(), 1u);
  EXPECT_DOUBLE_EQ(loads[0].interface_s, 0.008);
  EXPECT_DOUBLE_EQ(loads[0].link_s, 0.032);
  EXPECT_DOUBLE_EQ(loads[0].times(), 4);
  const Time message = time_of(graph, four_to_one(), {});
  const Time flow = time_of(graph, four_to_one(), by_flows());
  EXPECT_EQ((flow - message).ps, 24'000'000'000);  // three times 8 ms
}

TEST(LinkLoads, LinksUpAreOfNoConcernInsideALeaf) {
  const WorkloadGraph graph = tests::collectives(CollectiveType::ALL_REDUCE, 8, 80'000'000, 1);
  const std::vector<LinkLoad> loads = loads_of(graph, four_to_one());
  ASSERT_EQ(loads.size(), 1u);
  EXPECT_DOUBLE_EQ(loads[0].times(), 1);
}

TEST(LinkLoads, RingsCountAllSteps) {
  // 2 (n - 1) steps of a 16th of 16 MB, three times.
  const WorkloadGraph graph = tests::collectives(CollectiveType::ALL_REDUCE, 16, 16'000'000, 3);
  const double expected = 3 * 30 * 1e6 / kRate;
  CollectiveRules in_lanes(1);
  in_lanes[0].choice.channels = 4;
  for (const bool analytical : {false, true}) {
    for (const CollectiveRules& rules : {CollectiveRules{}, in_lanes}) {
      ClusterOptions options;
      options.analytical_network = analytical;
      options.collectives = rules;
      const std::vector<LinkLoad> loads = loads_of(graph, four_to_one(), options);
      ASSERT_EQ(loads.size(), 1u);
      EXPECT_NEAR(loads[0].interface_s, expected, 1e-9 * expected);
      EXPECT_NEAR(loads[0].times(), 1, 1e-9);  // one message of a ring goes up
    }
  }
}

TEST(LinkLoads, AllPairsMeetOnLinksUp) {
  // Of 31 others 24 are in other leaves: 8 x 24 over two links, against 31 over one.
  const std::vector<LinkLoad> loads =
      loads_of(tests::collectives(CollectiveType::ALL_TO_ALL, 32, 32'000'000, 1), four_to_one(),
               all_at_once());
  ASSERT_EQ(loads.size(), 1u);
  EXPECT_NEAR(loads[0].times(), 96.0 / 31, 1e-9);
}

TEST(LinkLoads, ReceiversAreInterfacesToo) {
  const std::vector<LinkLoad> loads = loads_of(
      tests::collectives(CollectiveType::GATHER, 8, 1'000'000, 1), four_to_one(), all_at_once());
  ASSERT_EQ(loads.size(), 1u);
  EXPECT_DOUBLE_EQ(loads[0].interface_s, 7 * 1e6 / kRate);
  EXPECT_DOUBLE_EQ(loads[0].times(), 1);
}

TEST(LinkLoads, OthersPassADevicesLinksOnATorus) {
  const WorkloadGraph graph = shifted(8, 2, 1'000'000);
  const std::vector<LinkLoad> loads = loads_of(graph, ring_of_links());
  ASSERT_EQ(loads.size(), 1u);
  EXPECT_DOUBLE_EQ(loads[0].times(), 2);
  EXPECT_DOUBLE_EQ(loads_of(shifted(8, 1, 1'000'000), ring_of_links())[0].times(), 1);
}

TEST(LinkLoads, SendsAreToldByTheirKind) {
  tests::PipelineShape shape{.micro_batches = 5, .forward = Time{1000}, .backward = Time{2000}};
  shape.bytes = 1'000'000;
  const std::vector<LinkLoad> loads =
      loads_of(tests::two_stage_pipeline(shape), alone(SingleSwitchSpec{1, kLine, kSoftware}));
  ASSERT_EQ(loads.size(), 1u);
  EXPECT_EQ(loads[0].kind, TimeClass::pipeline);
  EXPECT_DOUBLE_EQ(loads[0].interface_s, 5 * 1e6 / kRate);
  EXPECT_DOUBLE_EQ(loads[0].times(), 1);
}

TEST(LinkLoads, AreToldOnlyWhereNothingElseCountsThem) {
  const WorkloadGraph graph = shifted(32, 8, 1'000'000);
  EXPECT_FALSE(loads_of(graph, four_to_one()).empty());
  EXPECT_TRUE(loads_of(graph, four_to_one(), by_flows()).empty());
  ClusterOptions by_packets;
  by_packets.packets.emplace();
  EXPECT_TRUE(loads_of(graph, four_to_one(), by_packets).empty());
  EXPECT_TRUE(loads_of(graph, tests::round_fabric()).empty());
  EXPECT_TRUE(loads_of(shifted(32, 0, 1'000'000), four_to_one()).empty());
}

TEST(LinkLoads, FoldedDevicesCountOneByOne) {
  const WorkloadGraph graph = tests::small_llama({.tensor = 2, .pipeline = 4, .data = 4});
  ClusterOptions options;
  options.analytical_network = true;
  const std::vector<LinkLoad> whole = loads_of(graph, four_to_one(), options);
  options.folding = Folding::required;
  const std::vector<LinkLoad> folded = loads_of(graph, four_to_one(), options);
  ASSERT_EQ(whole.size(), 3u);
  ASSERT_EQ(folded.size(), whole.size());
  for (std::size_t k = 0; k < whole.size(); ++k) {
    EXPECT_EQ(folded[k].kind, whole[k].kind);
    EXPECT_EQ(folded[k].interface_s, whole[k].interface_s);
    EXPECT_EQ(folded[k].link_s, whole[k].link_s);
    EXPECT_EQ(folded[k].link, whole[k].link);
  }
  EXPECT_GT(whole[1].times() + whole[2].times(), 2.5);
}

TEST(EvenSpread, HandsOnInEqualParts) {
  const auto topology = make_topology(ring_of_links(), 8);
  EvenSpread spread(*topology);
  const auto bytes = [](std::uint8_t) { return 1.0; };
  EXPECT_EQ(spread.most(bytes).load, 0);
  spread.add({{DeviceId{0}, DeviceId{4}, 6}});  // both ways are as short
  EXPECT_DOUBLE_EQ(spread.most(bytes).load, 3);
  EXPECT_EQ(spread.most(bytes).at, (VertexId{0}));
  spread.add({{DeviceId{2}, DeviceId{4}, 5}, {DeviceId{1}, DeviceId{3}, 1}});
  EXPECT_DOUBLE_EQ(spread.most(bytes).load, 9);  // from 2 to 3: 3, 5 and 1
  EXPECT_EQ(spread.most(bytes).at, (VertexId{2}));
  EXPECT_DOUBLE_EQ(spread.most([](std::uint8_t) { return 0.5; }).load, 4.5);
  spread.clear();
  EXPECT_EQ(spread.most(bytes).load, 0);
}

TEST(EvenSpread, WhatPassesADeviceKeepsToTheNetworkAcross) {
  Fabric fabric = ring_of_links();
  fabric.nodes = tests::round_fabric().nodes;
  fabric.nodes->devices = 2;
  const auto topology = make_topology(fabric, 8);
  EvenSpread spread(*topology);
  spread.add({{DeviceId{0}, DeviceId{3}, 1}});  // through 2, which is in a node with 3
  const auto kinds = topology->link_kinds();
  const auto inside = [&](std::uint8_t kind) { return kinds[kind].name == kLine.name ? 1.0 : 9.0; };
  EXPECT_EQ(spread.most(inside).load, 1);
}

}  // namespace
}  // namespace exawarp::tests
