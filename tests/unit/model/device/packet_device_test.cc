// Devices on the packet network: collectives, messages of both protocols, and when they are over.
#include <gtest/gtest.h>

#include "core/error.h"
#include "model/workload/validate.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::Time;
using schema::CollectiveType;
using schema::NodeKind;
using schema::StreamKind;

// One device a node below one switch: every message crosses the fabric, and the switch blocks none.
Fabric one_switch() {
  Fabric fabric = tests::round_fabric();
  fabric.nodes->devices = 1;
  tests::tree_of(fabric).devices_per_leaf = 64;
  return fabric;
}

ClusterOptions packets(ClusterOptions options = {}) {
  options.packets.emplace();
  options.packets->packet_bytes = 1'000;
  options.packets->routing.policy = "ecmp";
  return options;
}

Time simulated(const WorkloadGraph& graph, const Fabric& fabric, const ClusterOptions& options) {
  const Cluster cluster(graph, tests::round_accelerator(), fabric, options);
  const tests::ClusterRun done = tests::run_cluster(cluster);
  EXPECT_EQ(done.outcome.unfinished(), 0u);
  EXPECT_EQ(done.outcome.packets().unfinished, 0u);
  return done.outcome.simulated_time();
}

WorkloadGraph pair(std::uint64_t bytes, Time receive_at = Time{0}) {
  WorkloadBuilder workload("pair");
  const auto axis = workload.add_axis("device", 8);
  for (const std::uint32_t d : {0u, 1u}) {
    ProgramBuilder& program = workload.add_program(d == 0 ? "sender" : "receiver");
    const auto stream = program.add_stream("s", StreamKind::COMMUNICATION);
    const auto late = program.add_node(
        {.stream = stream, .duration_ps = d == 0 ? 0 : static_cast<std::uint64_t>(receive_at.ps)});
    program.add_node({.kind = d == 0 ? NodeKind::SEND : NodeKind::RECEIVE,
                      .stream = stream,
                      .peer = d == 0 ? 4 : 0,
                      .comm_bytes = bytes},
                     {late});
    workload.bind_range(d, {.axis = axis, .first = d == 0 ? 0u : 4u, .count = 1});
  }
  workload.add_program("none").add_stream("s", StreamKind::COMPUTE);
  workload.bind_range(2, {.axis = axis, .first = 1, .count = 3});
  workload.bind_range(2, {.axis = axis, .first = 5, .count = 3});
  WorkloadGraph graph = workload.build();
  validate(graph);
  return graph;
}

TEST(PacketDevice, AMessageTakesItsPathAndItsBytes) {
  EXPECT_EQ(simulated(pair(10'000), tests::round_fabric(), packets()),
            tests::kLeafLatency + Time{10'000 * tests::kScaleOutPsPerByte});
}

TEST(PacketDevice, AMessageInsideANodeStaysAMessage) {
  const auto graph = tests::collectives(CollectiveType::ALL_REDUCE, 4, 4'000);
  const Cluster cluster(graph, tests::round_accelerator(), tests::round_fabric(), packets());
  const tests::ClusterRun done = tests::run_cluster(cluster);
  EXPECT_EQ(done.outcome.simulated_time(),
            6 * (tests::kNodeLatency + Time{1'000 * tests::kNodePsPerByte}));
  EXPECT_EQ(done.outcome.packets().packets_sent, 0u);
}

TEST(PacketDevice, PacketsInsideANodeTakeAsLongAsMessages) {
  const auto graph = tests::collectives(CollectiveType::ALL_REDUCE, 4, 40'000);
  ClusterOptions options = packets();
  options.packets_inside_nodes = true;
  const Cluster cluster(graph, tests::round_accelerator(), tests::round_fabric(), options);
  const tests::ClusterRun done = tests::run_cluster(cluster);
  EXPECT_EQ(done.outcome.simulated_time(),
            6 * (tests::kNodeLatency + Time{10'000 * tests::kNodePsPerByte}));
  EXPECT_EQ(done.outcome.packets().packet_hops, 4u * 6 * 10);
}

// The request and the answer are packets of 64 B, which take the line as others do.
TEST(PacketDevice, RendezvousTakesARequestAnAnswerAndTheMessage) {
  ClusterOptions options = packets({.eager_max_bytes = 9'999});
  const Time notice = tests::kLeafLatency + Time{64 * tests::kScaleOutPsPerByte};
  EXPECT_EQ(simulated(pair(10'000), tests::round_fabric(), options),
            2 * notice + tests::kLeafLatency + Time{10'000 * tests::kScaleOutPsPerByte});
  const Time late{50'000'000};
  EXPECT_EQ(simulated(pair(10'000, late), tests::round_fabric(), options),
            late + notice + tests::kLeafLatency + Time{10'000 * tests::kScaleOutPsPerByte});
}

TEST(PacketDevice, ARingIsTheClosedFormWhereNothingContends) {
  for (const CollectiveType type : {CollectiveType::ALL_REDUCE, CollectiveType::REDUCE_SCATTER,
                                    CollectiveType::ALL_GATHER, CollectiveType::BARRIER}) {
    const auto graph = tests::collectives(type, 8, type == CollectiveType::BARRIER ? 0 : 80'000, 2);
    const Time messages = simulated(graph, one_switch(), {});
    const Time run = simulated(graph, one_switch(), packets());
    EXPECT_NEAR(static_cast<double>(run.ps), static_cast<double>(messages.ps),
                0.001 * static_cast<double>(messages.ps))
        << static_cast<int>(type);
  }
}

std::vector<ClusterOptions> every_algorithm() {
  std::vector<ClusterOptions> all;
  for (std::size_t a = 0; a < kAlgorithmNames.size(); ++a) {
    Choice choice{.algorithm = static_cast<Algorithm>(a)};
    choice.start = Time{100'000};
    choice.step = {Time{1'000}, Time{20'000}};
    choice.payload_ppm = {900'000, 900'000};
    ClusterOptions options;
    options.collectives = {CollectiveRule{.choice = choice}};
    all.push_back(options);
    choice.hierarchical = true;
    choice.across = choice.algorithm;
    options.collectives = {CollectiveRule{.choice = choice}};
    all.push_back(options);
  }
  return all;
}

// Messages of one phase share a line packet by packet here and go one after the other there. The
// last of them ends at the same time, but the first one later: a broadcast by a tree, whose first
// message has the longest way to go on, takes nearly twice the time.
TEST(PacketDevice, EveryCollectiveByEveryAlgorithmTakesAboutAsLongAsMessages) {
  for (const ClusterOptions& options : every_algorithm()) {
    for (auto type = CollectiveType::ALL_REDUCE; type <= CollectiveType::PERMUTE;
         type = static_cast<CollectiveType>(static_cast<int>(type) + 1)) {
      const Choice& choice = options.collectives[0].choice;
      if (!can_run(type, choice.algorithm)) continue;
      const bool rooted = is_rooted(type) || type == CollectiveType::PERMUTE;
      const auto graph = tests::collectives(type, 8, 160'000, 1, rooted ? 3 : 0);
      const auto messages = static_cast<double>(simulated(graph, one_switch(), options).ps);
      const auto run = static_cast<double>(simulated(graph, one_switch(), packets(options)).ps);
      EXPECT_GE(run, 0.6 * messages) << static_cast<int>(type) << " by "
                                     << kAlgorithmNames[static_cast<std::size_t>(choice.algorithm)];
      EXPECT_LE(run, 2.0 * messages) << static_cast<int>(type) << " by "
                                     << kAlgorithmNames[static_cast<std::size_t>(choice.algorithm)];
    }
  }
}

// Eight rings, each with one member below each of eight leaves, sprayed over two spines that are
// four times too slow: queues differ, and later chunks, of one packet, overtake earlier ones.
TEST(PacketDevice, ChunksThatOvertakeWaitForThoseBefore) {
  WorkloadBuilder workload("rings");
  const auto inner = workload.add_axis("inner", 8), outer = workload.add_axis("outer", 8);
  const auto group = workload.add_group("outer", {outer});
  ProgramBuilder& program = workload.add_program("member");
  const auto stream = program.add_stream("network", StreamKind::COMMUNICATION);
  for (int i = 0; i < 4; ++i) {
    program.add_node({.kind = NodeKind::COLLECTIVE,
                      .stream = stream,
                      .collective = CollectiveType::ALL_REDUCE,
                      .group = group,
                      .comm_bytes = 8 * 40'000});
  }
  workload.bind_range(0, {.axis = inner, .first = 0, .count = 8});
  const WorkloadGraph graph = [&] {
    WorkloadGraph built = workload.build();
    validate(built);
    return built;
  }();
  Fabric fabric = one_switch();
  tests::tree_of(fabric).devices_per_leaf = 8;
  tests::tree_of(fabric).groups_per_pod = 8;
  tests::tree_of(fabric).spines_per_pod = 2;
  ClusterOptions options = packets();
  options.packets->packet_bytes = 40'000;
  options.packets->routing.policy = "spray";
  const Time least = 4 * 14 * (tests::kPodLatency + Time{40'000 * tests::kScaleOutPsPerByte});
  EXPECT_GE(simulated(graph, fabric, options), least);
}

TEST(PacketDevice, PutsEachRunOfSwitchesAtAnAtom) {
  const auto graph = tests::collectives(CollectiveType::ALL_REDUCE, 18, 100);
  const Cluster cluster(graph, tests::round_accelerator(), tests::round_fabric(), packets());
  EXPECT_TRUE(cluster.has_packets());
  EXPECT_EQ(cluster.lookahead(), Time{10'000});       // of a link
  EXPECT_GE(cluster.switch_count(), 3u + 4 + 4 + 5);  // leaves, spines, cores, NVSwitches
  for (const pdes::LpRange& range : cluster.ranges()) {
    EXPECT_EQ(range.first.value % (1u << cluster.atom_shift()), 0u);
  }
  const Traffic traffic = cluster.traffic();
  const std::uint32_t first_switch_atom = cluster.ranges()[1].first.value >> cluster.atom_shift();
  EXPECT_GT(traffic.work[first_switch_atom], 0u);
  EXPECT_GT(traffic.first_edge[first_switch_atom + 1], traffic.first_edge[first_switch_atom]);
}

TEST(PacketDevice, RefusesPacketOptionsThatContradictThemselves) {
  const auto graph = tests::collectives(CollectiveType::ALL_REDUCE, 8, 100);
  ClusterOptions options = packets();
  options.packets->flow_control = FlowControl::credit;
  try {
    Cluster cluster(graph, tests::round_accelerator(), tests::round_fabric(), options);
    FAIL() << "accepted";
  } catch (const core::InputError& error) {
    EXPECT_STREQ(error.what(),
                 "packet network: buffer: \"0 B\" an input and channel; credits need 4 packets, "
                 "4000 B, at least");
  }
}

}  // namespace
}  // namespace exawarp::tests
