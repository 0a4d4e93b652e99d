// Collectives alone take as long by their closed form as message by message, whatever lies between
// the members; and, where nothing contends inside the network, as packet by packet.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>

#include "model/device/group_time.h"
#include "model/workload/validate.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::model {
namespace {

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
  Fabric fabric{.node = {.name = "", .devices = 1, .latency = {}}, .scale_out = {}};
  fabric.topology = TopologySpec{.networks = std::move(networks), .sizes = std::move(sizes),
                                 .forwarding = Time{400'000}, .nodes = {}, .place = "t"};
  return fabric;
}

Fabric in_nodes(FamilySpec across, std::uint32_t planes = 1) {
  Fabric fabric = on({std::move(across)});
  fabric.node = test::round_fabric().node;
  fabric.node.planes = planes;
  fabric.topology->nodes = nodes_spec(fabric.node);
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
  return {{"nodes on a fat tree", test::round_fabric()},
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
  return {{"all", {24}, 0},        {"one of each node", {4, 6}, 1}, {"two of each node", {2, 12}, 1},
          {"in a node", {4, 6}, 0}, {"across half a node", {6, 4}, 0}, {"pairs", {12, 2}, 1},
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
    rules.push_back({.choice = {.algorithm = algorithm, .channels = 2, .chunk_bytes = bytes / 9 + 1,
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
  const Cluster cluster(graph, test::round_accelerator(), fabric, options);
  const test::ClusterRun done = test::run_cluster(cluster);
  EXPECT_EQ(done.outcome.unfinished(), 0u);
  return done.outcome.simulated_time();
}

void expect_equal_times(const Named& network, const Shape& shape, std::int64_t bytes) {
  for (auto type = CollectiveType::ALL_REDUCE; type <= CollectiveType::PERMUTE;
       type = static_cast<CollectiveType>(static_cast<int>(type) + 1)) {
    const bool has_root = is_rooted(type) || type == CollectiveType::PERMUTE;
    const WorkloadGraph graph = along(shape, type, static_cast<std::uint64_t>(bytes),
                                      has_root ? members_of(shape) / 2 : 0);
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

TEST(Fidelities, CollectivesTakeAsLongByTheirClosedFormsAsByMessages) {
  for (const Named& network : networks()) {
    for (const Shape& shape : shapes()) expect_equal_times(network, shape, 100'003);
  }
}

TEST(Fidelities, SoTheyDoWhenTheyAreMostlyLatencyOrMostlyWire) {
  for (const Named& network : networks()) {
    for (const std::int64_t bytes : {1'000, 3'000'017}) {
      expect_equal_times(network, shapes()[0], bytes);
      expect_equal_times(network, shapes()[2], bytes);
    }
  }
}

}  // namespace
}  // namespace exawarp::model
