// StableHLO modules as workloads: devices, groups, dependencies.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "io/formats/stablehlo/import.h"
#include "model/workload/validate.h"

namespace exawarp::tests {
namespace {

using namespace io::stablehlo;

namespace schema = model::schema;

const std::string kFolder = EXAWARP_SOURCE_DIR "/tests/golden/stablehlo/";

Import import_with(const std::string& file, const std::string& mesh, std::uint32_t module = 0,
                   const std::string& entry = "main") {
  ImportOptions options{.mesh = {}, .entry = entry, .trip_count = {}, .module = module};
  if (!mesh.empty()) options.mesh = parse_mesh_option(mesh);
  return import_stablehlo(kFolder + file, options);
}

std::string refusal_of(const std::string& file, const std::string& mesh) {
  try {
    import_with(file, mesh);
  } catch (const core::InputError& error) {
    const std::string text = error.what();
    return text.starts_with(kFolder) ? text.substr(kFolder.size()) : text;
  }
  return "accepted";
}

TEST(StablehloImport, GroupsAlongAxesStayAlongThem) {
  // [[0, 1], [2, 3]] is the axis that varies fastest, [[0, 1, 2, 3]] all.
  const Import import = import_with("test_split_replica_groups.mlir", "data=2,tensor=2");
  const model::WorkloadGraph& graph = import.graph;
  ASSERT_EQ(graph.group_count(), 2u);
  EXPECT_EQ(graph.membership(0, {3}).size, 2u);
  EXPECT_EQ(graph.member(0, {3}, 0).value, 2u);
  EXPECT_EQ(graph.membership(1, {3}).size, 4u);
  EXPECT_EQ(graph.program_count(), 1u);
  // dot, all-reduce, tanh, all-reduce, negate: each waits for the one before.
  const model::Program& program = graph.program(0);
  ASSERT_EQ(program.node_count(), 5u);
  for (std::uint32_t i = 1; i < 5; ++i) {
    ASSERT_EQ(program.node(i).getDependencyCount(), 1u) << i;
    EXPECT_EQ(program.dependency(program.node(i), 0), i - 1) << i;
  }
  EXPECT_EQ(program.node(1).getCommBytes(), 128u * 512 * 4);
  EXPECT_EQ(program.node(0).getOperation(), schema::Operation::GEMM);
}

TEST(StablehloImport, GrowsAlongTheFirstAxis) {
  const Import import = import_with("test_split_replica_groups.mlir", "data=32,tensor=2");
  EXPECT_EQ(import.graph.device_count(), 64u);
  EXPECT_EQ(import.graph.membership(0, {3}).size, 2u);
  EXPECT_EQ(import.graph.membership(1, {3}).size, 64u);
}

TEST(StablehloImport, GroupsAlongNoAxisAreLists) {
  const Import import = import_with("test_split_replica_groups.mlir", "");
  EXPECT_EQ(import.graph.member(0, {3}, 0).value, 2u);
  EXPECT_EQ(import.graph.membership(0, {0}).size, 2u);
}

TEST(StablehloImport, RefusesAMeshThatDoesNotFit) {
  EXPECT_EQ(refusal_of("test_split_replica_groups.mlir", "data=6"),
            "--mesh: 6 devices; " + kFolder +
                "test_split_replica_groups.mlir is for 4; expected a multiple of that");
  EXPECT_EQ(refusal_of("test_split_replica_groups.mlir", "data=8"),
            "test_split_replica_groups.mlir:7:10: groups of all_reduce that lie along no axis of "
            "the mesh cannot grow to 8 devices; expected --mesh of 4 devices, or axes that the "
            "groups follow");
  EXPECT_EQ(refusal_of("test_split_replica_groups.mlir", "data"),
            "--mesh: \"data\" is no axis; expected names of their own with sizes, e.g. "
            "data=4,tensor=2");
  EXPECT_EQ(refusal_of("interpret_all_gather.mlir", "").substr(0, 30),
            "interpret_all_gather.mlir:1:1:");
}

TEST(StablehloImport, APermuteGivesEachDeviceItsPeers) {
  const Import import =
      import_with("interpret_collective_permute.mlir", "", 1, "collective_permute");
  EXPECT_TRUE(model::find_unmatched(import.graph).empty());
  EXPECT_EQ(import.graph.program_count(), import.graph.device_count());
  EXPECT_EQ(import.communications, 1u);
}

TEST(StablehloImport, AnAllGatherCountsItsInput) {
  // tensor<2x2xi64>, from the second of the file's modules.
  const Import import = import_with("interpret_all_gather.mlir", "", 2, "all_gather");
  EXPECT_EQ(import.graph.program(0).node(0).getCommBytes(), 32u);
  EXPECT_EQ(import.program.collective_output_bytes, 64u);
}

TEST(StablehloImport, AsynchronousCollectivesCountOnce) {
  const Import import =
      import_with("verify_async_ops.mlir", "", 2, "async_start_all_gather");
  EXPECT_EQ(import.program.collectives, 1u);
  EXPECT_EQ(import.graph.device_count(), 8u);
}

}  // namespace
}  // namespace exawarp::tests
