// One large message, nothing in its way, takes the same time at fidelity message and at fidelity
// packet, on every fabric of configs/, between devices near and far.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "io/study/system_config.h"
#include "model/workload/validate.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using model::NodeFields;
using model::ProgramBuilder;
using model::WorkloadBuilder;
using model::WorkloadGraph;
using model::schema::NodeKind;
using model::schema::StreamKind;

constexpr std::uint64_t kBytes = 16 << 20;
constexpr std::int64_t kPacketBytes = 16 << 10;
constexpr double kTolerance = 0.02;

const std::string kFabrics = std::string(EXAWARP_SOURCE_DIR) + "/configs/fabrics/";

std::vector<std::string> fabric_files() {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kFabrics)) {
    files.insert(entry.path().stem().string());
  }
  return {files.begin(), files.end()};
}

// As many as it takes to cross the topmost tier.
std::uint32_t devices_of(const std::string& fabric) {
  if (fabric == "graph_8_example") return 8;
  if (fabric == "gb200_nvl72_roce400") return 144;
  if (fabric == "a100_hgx_hdr200") return 640;
  if (fabric == "fat_tree_16_roce400") return 256;
  if (fabric == "dragonfly_384_example") return 384;
  if (fabric == "fat_tree_32_roce400") return 512;
  if (fabric.ends_with("hgx_roce400") || fabric == "fat_tree_radix64_example") return 2048;
  if (fabric == "rail_optimised_h100" || fabric == "rail_only_h100") return 512;
  if (fabric == "dual_plane_hpn") return 2048;
  if (fabric == "leaf_spine_4to1_example" || fabric == "dual_tor_example") return 128;
  return 64;
}

WorkloadGraph one_message(std::uint32_t devices, std::uint32_t to) {
  WorkloadBuilder workload("one message");
  const auto axis = workload.add_axis("device", devices);
  const auto bind = [&](std::uint32_t program, std::uint32_t first, std::uint32_t end) {
    if (first < end) {
      workload.bind_range(program, {.axis = axis, .first = first, .count = end - first});
    }
  };
  for (const NodeKind kind : {NodeKind::SEND, NodeKind::RECEIVE}) {
    ProgramBuilder& program = workload.add_program(kind == NodeKind::SEND ? "from" : "to");
    const auto stream = program.add_stream("s", StreamKind::COMMUNICATION);
    program.add_node({.kind = kind,
                      .stream = stream,
                      .peer = kind == NodeKind::SEND ? static_cast<std::int32_t>(to) : 0,
                      .comm_bytes = kBytes});
  }
  workload.add_program("none").add_stream("s", StreamKind::COMPUTE);
  bind(0, 0, 1);
  bind(1, to, to + 1);
  bind(2, 1, to);
  bind(2, to + 1, devices);
  WorkloadGraph graph = workload.build();
  model::validate(graph);
  return graph;
}

double seconds(const WorkloadGraph& graph, const model::Fabric& fabric,
               const model::ClusterOptions& options) {
  const model::Cluster cluster(graph, tests::round_accelerator(), fabric, options);
  const tests::ClusterRun run = tests::run_cluster(cluster);
  EXPECT_EQ(run.outcome.unfinished(), 0u);
  return core::to_seconds(run.outcome.simulated_time());
}

class EveryFabric : public testing::TestWithParam<std::string> {};

TEST_P(EveryFabric, PacketAgreesWithMessage) {
  io::YamlDocument document(kFabrics + GetParam() + ".yaml");
  const model::Fabric fabric = io::read_fabric(document.root());
  const std::uint32_t devices = devices_of(GetParam());
  model::ClusterOptions packets;
  packets.packets.emplace();
  packets.packets->packet_bytes = kPacketBytes;
  packets.packets->routing.policy = "ecmp";
  packets.packets_inside_nodes = true;
  for (const std::uint32_t to : {1u, devices / 8, devices / 2 + 1, devices - 1}) {
    const WorkloadGraph graph = one_message(devices, to);
    const double message = seconds(graph, fabric, {});
    const double packet = seconds(graph, fabric, packets);
    EXPECT_NEAR(packet / message, 1.0, kTolerance) << "device 0 to " << to;
    RecordProperty("device_" + std::to_string(to), std::to_string(packet / message - 1));
  }
}

INSTANTIATE_TEST_SUITE_P(Configs, EveryFabric, testing::ValuesIn(fabric_files()),
                         [](const auto& fabric) { return fabric.param; });

}  // namespace
}  // namespace exawarp::tests
