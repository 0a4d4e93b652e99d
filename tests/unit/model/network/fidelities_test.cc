// Collectives alone take as long by their closed form as message by message, whatever lies between
// the members; and, where nothing contends inside the network, as packet by packet.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "model/workload/validate.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::Time;
using schema::CollectiveType;
using schema::NodeKind;
using schema::StreamKind;

const LinkKind kLink{"link", 10'000'000'000, Time{500'000}};
constexpr NodeLatencies kLatencies{.forwarding = Time{300'000}, .endpoint = Time{1'000'000}};

struct Named {
  std::string name;
  Fabric fabric;
};

Fabric on(std::vector<FamilySpec> networks, std::vector<std::uint32_t> sizes = {}) {
  return {.networks = std::move(networks),
          .sizes = std::move(sizes),
          .forwarding = Time{400'000},
          .place = "t"};
}

Fabric in_nodes(FamilySpec across, std::uint32_t planes = 1) {
  Fabric fabric = on({std::move(across)});
  fabric.nodes = tests::round_fabric().nodes;
  fabric.nodes->planes = planes;
  return fabric;
}

FamilySpec family(decltype(FamilySpec::shape) shape) {
  return {.shape = std::move(shape), .place = "t"};
}

ClosSpec leaf_spine(std::int64_t up_bytes_per_s) {
  return {.devices_per_leaf = 8,
          .spines_per_pod = 2,
          .host = kLink,
          .leaf_spine = {"up", up_bytes_per_s, Time{200'000}},
          .spine_core = {"top", up_bytes_per_s, Time{200'000}},
          .latencies = kLatencies};
}

FamilySpec torus(std::vector<std::uint32_t> dims) {
  return family(TorusSpec{.dims = std::move(dims), .link = kLink, .latencies = kLatencies});
}

// All of 24 devices, or more where a group takes fewer.
std::vector<Named> networks() {
  const FamilySpec full = family(FullyConnectedSpec{kLink, kLatencies});
  return {{"nodes on a fat tree", tests::round_fabric()},
          {"nodes on leaf and spine", in_nodes(family(leaf_spine(10'000'000'000)))},
          {"nodes on slow spines", in_nodes(family(leaf_spine(4'000'000'000)), 2)},
          {"four planes", on({family(SingleSwitchSpec{4, kLink, kLatencies})})},
          {"torus", on({torus({4, 6})})},
          {"ring", on({torus({24})})},
          {"fully connected", on({full})},
          {"nodes, fully connected", in_nodes(full)},
          {"product", on({full, torus({6})}, {4, 6})}};
}

// Members of groups, among 24 devices.
struct Shape {
  std::string name;
  std::vector<std::uint32_t> axes;  // the first one varies fastest
  std::uint32_t group;              // the axis that groups are along
};
std::vector<Shape> shapes() {
  return {{"all", {24}, 0},
          {"one of each node", {4, 6}, 1},
          {"two of each node", {2, 12}, 1},
          {"in a node", {4, 6}, 0},
          {"across half a node", {6, 4}, 0},
          {"pairs", {12, 2}, 1},
          {"every third", {3, 8}, 1}};
}

std::uint32_t members_of(const Shape& shape) { return shape.axes[shape.group]; }

WorkloadGraph along(const Shape& shape, CollectiveType type, std::uint64_t bytes,
                    std::uint32_t root) {
  WorkloadBuilder workload("along");
  std::vector<std::uint8_t> axes;
  for (const std::uint32_t size : shape.axes) {
    axes.push_back(workload.add_axis("axis" + std::to_string(axes.size()), size));
  }
  const std::uint16_t group = workload.add_group("some", {axes[shape.group]});
  ProgramBuilder& program = workload.add_program("member");
  const std::uint8_t stream = program.add_stream("network", StreamKind::COMMUNICATION);
  program.add_node({.kind = NodeKind::COLLECTIVE,
                    .stream = stream,
                    .collective = type,
                    .group = group,
                    .root = root,
                    .comm_bytes = bytes});
  workload.bind_range(0, {.axis = axes[0], .first = 0, .count = shape.axes[0]});
  WorkloadGraph graph = workload.build();
  validate(graph);
  return graph;
}

std::vector<CollectiveRule> every_rule(CollectiveType type, std::int64_t bytes) {
  std::vector<CollectiveRule> rules;
  for (std::size_t a = 0; a < kAlgorithmNames.size(); ++a) {
    const auto algorithm = static_cast<Algorithm>(a);
    if (!can_run(type, algorithm)) continue;
    rules.push_back({.choice = {.algorithm = algorithm}});
    if (!can_use_lanes(algorithm)) continue;
    rules.push_back({.choice = {.algorithm = algorithm, .channels = 4}});
    rules.push_back({.choice = {.algorithm = algorithm,
                                .channels = 2,
                                .chunk_bytes = bytes / 9 + 1,
                                .both_ways = true}});
  }
  return rules;
}

std::string text(CollectiveType type, const CollectiveRule& rule) {
  return fmt::format("type {} by {}, {} channels{}", static_cast<int>(type),
                     kAlgorithmNames[static_cast<std::size_t>(rule.choice.algorithm)],
                     rule.choice.channels, rule.choice.both_ways ? " both ways" : "");
}

Time simulated(const WorkloadGraph& graph, const Fabric& fabric, const ClusterOptions& options) {
  const Cluster cluster(graph, tests::round_accelerator(), fabric, options);
  const tests::ClusterRun done = tests::run_cluster(cluster);
  EXPECT_EQ(done.outcome.unfinished(), 0u);
  return done.outcome.simulated_time();
}

void expect_equal_times(const Named& network, const Shape& shape, std::int64_t bytes) {
  for (auto type = CollectiveType::ALL_REDUCE; type <= CollectiveType::PERMUTE;
       type = static_cast<CollectiveType>(static_cast<int>(type) + 1)) {
    const bool has_root = is_rooted(type) || type == CollectiveType::PERMUTE;
    const WorkloadGraph graph =
        along(shape, type, static_cast<std::uint64_t>(bytes), has_root ? members_of(shape) / 2 : 0);
    for (const CollectiveRule& rule : every_rule(type, bytes)) {
      ClusterOptions options;
      options.collectives = {rule};
      const Time by_message = simulated(graph, network.fabric, options);
      options.analytical_network = true;
      EXPECT_EQ(simulated(graph, network.fabric, options).ps, by_message.ps)
          << network.name << ", " << shape.name << ", " << text(type, rule) << ", " << bytes;
    }
  }
}

class OnNetwork : public testing::TestWithParam<Named> {};

TEST_P(OnNetwork, CollectivesTakeAsLongByTheirClosedFormsAsByMessages) {
  for (const Shape& shape : shapes()) expect_equal_times(GetParam(), shape, 100'003);
}

TEST_P(OnNetwork, SoTheyDoWhereTheyAreMostlyLatencyOrMostlyWire) {
  for (const std::int64_t bytes : {1'000, 3'000'017}) {
    expect_equal_times(GetParam(), shapes()[0], bytes);
    expect_equal_times(GetParam(), shapes()[2], bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Fidelities, OnNetwork, testing::ValuesIn(networks()),
                         [](const auto& test) {
                           std::string name = test.param.name;
                           std::erase_if(name, [](char c) { return c == ','; });
                           std::ranges::replace(name, ' ', '_');
                           return name;
                         });

TEST(Fidelities, CollectivesOfScatteredRanksTakeAsLongByTheirClosedForms) {
  const Fabric fabric = tests::round_fabric();
  const PlacementSpec random{.kind = PlacementKind::random, .seed = 5};
  for (const Shape& shape : {shapes()[0], shapes()[1], shapes()[4]}) {
    const WorkloadGraph graph = along(shape, CollectiveType::ALL_REDUCE, 100'003, 0);
    for (const CollectiveRule& rule : every_rule(CollectiveType::ALL_REDUCE, 100'003)) {
      std::array<Time, 2> times;
      for (const bool analytical : {false, true}) {
        const Cluster cluster({{.name = "job", .graph = &graph, .placement = random}},
                              tests::round_accelerator(), fabric,
                              {.analytical_network = analytical, .collectives = {rule}});
        times[analytical ? 1 : 0] = tests::run_cluster(cluster).outcome.simulated_time();
      }
      EXPECT_EQ(times[1].ps, times[0].ps)
          << shape.name << ", " << text(CollectiveType::ALL_REDUCE, rule);
    }
  }
}

// Eight channels leave each node by its eight interfaces.
TEST(Fidelities, ChannelsUseAllInterfacesOfANodeByTheClosedFormToo) {
  Fabric fabric = tests::round_fabric();
  fabric.nodes->devices = 8;
  tests::tree_of(fabric).devices_per_leaf = 256;
  CollectiveRule eight{.choice = {.algorithm = Algorithm::ring, .channels = 8}};
  for (const CollectiveType type :
       {CollectiveType::ALL_REDUCE, CollectiveType::REDUCE_SCATTER, CollectiveType::ALL_GATHER}) {
    for (const std::uint32_t devices : {16u, 64u, 128u}) {
      for (const std::uint64_t bytes : {64u << 10, 8u << 20, 1u << 30}) {
        const bool gathers = type == CollectiveType::ALL_GATHER;
        const auto graph = tests::collectives(type, devices, gathers ? bytes / devices : bytes);
        ClusterOptions options{.collectives = {eight}};
        options.analytical_network = true;
        const Time closed = simulated(graph, fabric, options);
        if (devices != 128) {
          options.analytical_network = false;
          EXPECT_EQ(closed.ps, simulated(graph, fabric, options).ps)
              << static_cast<int>(type) << ", " << devices << " devices, " << bytes << " bytes";
        }
        if (bytes < 1u << 30) continue;
        // Each interface out of a node carries an eighth of what one lane's would.
        const std::uint64_t carried = (type == CollectiveType::ALL_REDUCE ? 2 : 1) * bytes / 8;
        EXPECT_NEAR(core::to_seconds(closed), static_cast<double>(carried) * 1e-10,
                    static_cast<double>(carried) * 1e-10 * 0.15);
      }
    }
  }
}

// ---- ports

ClusterOptions by_packets(ClusterOptions options) {
  options.packets.emplace();
  options.packets->packet_bytes = 1'000;
  options.packets->routing.policy = "deterministic";
  return options;
}

TEST(Fidelities, WhatADeviceSendsByDifferentPortsLeavesSideBySideAsPacketsDo) {
  const std::vector<Named> all = networks();
  for (const std::string name : {"fully connected", "ring"}) {
    const Named& network = *std::ranges::find(all, name, &Named::name);
    for (const CollectiveType type : {CollectiveType::ALL_GATHER, CollectiveType::ALL_TO_ALL}) {
      if (name == "ring" && type == CollectiveType::ALL_TO_ALL) continue;  // links are shared
      const Algorithm algorithm = name == "ring" ? Algorithm::ring : Algorithm::direct;
      CollectiveRule rule{.choice = {.algorithm = algorithm}};
      if (name == "ring") rule.choice.channels = 2, rule.choice.both_ways = true;
      const auto graph = tests::collectives(type, 24, 2'400'000);
      ClusterOptions options{.collectives = {rule}};
      const Time by_message = simulated(graph, network.fabric, options);
      const Time packets = simulated(graph, network.fabric, by_packets(options));
      EXPECT_NEAR(core::to_seconds(by_message), core::to_seconds(packets),
                  core::to_seconds(packets) * 0.01)
          << name << ", type " << static_cast<int>(type);
    }
  }
}

// A leaf of one tree hands all its chunks over before any comes that it passes on in the other.
TEST(Fidelities, ChunksOfTwoTreesShareALineAsPacketsDo) {
  const Fabric fabric = on({family(SingleSwitchSpec{1, kLink, kLatencies})});
  for (const Algorithm algorithm : {Algorithm::double_tree, Algorithm::nvls_tree}) {
    for (const std::uint32_t members : {4u, 8u, 13u, 24u}) {
      const CollectiveRule rule{.choice = {.algorithm = algorithm, .chunk_bytes = 100'000}};
      const auto graph = tests::collectives(CollectiveType::ALL_REDUCE, members, 4'000'000);
      ClusterOptions options{.collectives = {rule}};
      const Time by_message = simulated(graph, fabric, options);
      const double packets = core::to_seconds(simulated(graph, fabric, by_packets(options)));
      EXPECT_NEAR(core::to_seconds(by_message), packets, packets * 0.04) << members;
    }
  }
}

// A member hands what it has to several children at once, and each in turn passes it on.
TEST(Fidelities, ChildrenOfATreeAreSentToOneByOne) {
  const Fabric fabric = on({family(SingleSwitchSpec{1, kLink, kLatencies})});
  ClusterOptions options{.collectives = {{.choice = {.algorithm = Algorithm::tree}}}};
  for (const CollectiveType type : {CollectiveType::BROADCAST, CollectiveType::SCATTER,
                                    CollectiveType::ALL_REDUCE, CollectiveType::GATHER}) {
    for (const std::uint32_t members : {3u, 8u, 13u, 24u}) {
      const auto graph = tests::collectives(type, members, 4'000'000);
      const double by_message = core::to_seconds(simulated(graph, fabric, options));
      const double packets = core::to_seconds(simulated(graph, fabric, by_packets(options)));
      EXPECT_NEAR(packets, by_message, by_message * 0.01)
          << members << ", type " << static_cast<int>(type);
      ClusterOptions by_flows = options;
      by_flows.flows.emplace();
      by_flows.flows->routing.policy = "deterministic";
      const double flows = core::to_seconds(simulated(graph, fabric, by_flows));
      EXPECT_NEAR(flows, by_message, by_message * 0.01)
          << members << ", type " << static_cast<int>(type);
    }
  }
}

// Some of a node's members are done with a round in their node while others still send out of it.
TEST(Fidelities, AMembersMessagesOfSeveralRoundsFollowEachOther) {
  const Fabric fabric = in_nodes(family(SingleSwitchSpec{1, kLink, kLatencies}));
  const ClusterOptions options{.collectives = {{.choice = {.algorithm = Algorithm::bruck}}}};
  for (const CollectiveType type : {CollectiveType::ALL_GATHER, CollectiveType::ALL_TO_ALL}) {
    const auto graph = tests::collectives(type, 16, 4'000'000);
    const double by_message = core::to_seconds(simulated(graph, fabric, options));
    const double packets = core::to_seconds(simulated(graph, fabric, by_packets(options)));
    EXPECT_NEAR(packets, by_message, by_message * 0.01) << static_cast<int>(type);
  }
}

// Twelve of a member's fifteen messages leave its node, 100 us each. Three do not, 10 us each; in
// pairs the others wait for them, and all for a latency each.
TEST(Fidelities, MembersOfTwoNodesDoNotMeetAtOneOfTheNext) {
  Fabric fabric = in_nodes(family(leaf_spine(10'000'000'000)));
  const auto graph = tests::collectives(CollectiveType::ALL_TO_ALL, 16, 16'000'000);
  for (const Algorithm algorithm : {Algorithm::direct, Algorithm::pairwise}) {
    ClusterOptions options{.collectives = {{.choice = {.algorithm = algorithm}}}};
    const double by_message = core::to_seconds(simulated(graph, fabric, options));
    EXPECT_GE(by_message, 12e-4);
    EXPECT_LE(by_message, algorithm == Algorithm::direct ? 12.1e-4 : 12.7e-4);
    options.analytical_network = true;
    EXPECT_EQ(core::to_seconds(simulated(graph, fabric, options)), by_message);
  }
}

TEST(Fidelities, AMessageOccupiesThePortsAtItsEndsAndNoOthers) {
  // 23 messages of 10 us each at 10 GB/s, one by each port, and as many come.
  const auto graph = tests::collectives(CollectiveType::ALL_GATHER, 24, 100'000);
  const std::vector<Named> all = networks();
  const Named& network = *std::ranges::find(all, "fully connected", &Named::name);
  const ClusterOptions options{.collectives = {{.choice = {.algorithm = Algorithm::direct}}}};
  EXPECT_EQ(simulated(graph, network.fabric, options), (Time{10'000'000 + 500'000 + 1'000'000}));
}

}  // namespace
}  // namespace exawarp::tests
