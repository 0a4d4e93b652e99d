// Watts and joules against figures counted by hand.
#include "model/energy/energy.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "model/compute/kernel_tables.h"
#include "model/energy/power.h"
#include "model/workload/validate.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using model::Accelerator;
using model::NodeFields;
using model::WorkloadBuilder;
using model::WorkloadGraph;
using model::schema::DataType;
using model::schema::Operation;

WorkloadGraph two_devices(const NodeFields& node, bool all_reduce, const model::Shape& shape = {}) {
  WorkloadBuilder workload("two devices");
  const auto axis = workload.add_axis("data", 2);
  const auto group = workload.add_group("data", {axis});
  model::ProgramBuilder& program = workload.add_program("p");
  const auto compute = program.add_stream("compute", model::schema::StreamKind::COMPUTE);
  NodeFields fields = node;
  fields.stream = compute;
  fields.shape = workload.add_shape(shape);
  const std::uint32_t before = program.add_node(fields);
  if (all_reduce) {
    const auto data = program.add_stream("data", model::schema::StreamKind::COMMUNICATION);
    program.add_node({.kind = model::schema::NodeKind::COLLECTIVE,
                      .stream = data,
                      .collective = model::schema::CollectiveType::ALL_REDUCE,
                      .group = group,
                      .comm_bytes = 1'000'000},
                     {before});
  }
  workload.bind_range(0, {.axis = axis, .first = 0, .count = 2});
  WorkloadGraph graph = workload.build();
  model::validate(graph);
  return graph;
}

// What a run of the graph on such devices draws.
std::optional<model::Energy> energy_of(const WorkloadGraph& graph, const Accelerator& accelerator,
                                       const model::SystemPower& system, double* seconds) {
  const model::Cluster cluster(graph, accelerator, round_fabric(), {});
  const ClusterRun run = run_cluster(cluster);
  *seconds = core::to_seconds(run.outcome.simulated_time());
  return model::energy_of(cluster, run.outcome, system);
}

double power_of(const NodeFields& node, core::Time duration) {
  const WorkloadGraph graph = two_devices(node, false);
  return model::modelled_power_w(powered_accelerator(),
                                 model::operation_of(graph.program(0).node(0), {}), duration);
}

TEST(Power, FollowsTheSharesOfTheRatesThatAKernelUses) {
  const core::Time second{core::kPicosecondsPerSecond};
  const NodeFields gemm{
      .operation = Operation::GEMM, .data_type = DataType::BF16, .flops = 100'000'000'000};
  EXPECT_DOUBLE_EQ(power_of(gemm, second), 100 + 400 * 0.1 / 0.5);
  NodeFields copy{.operation = Operation::ELEMENTWISE, .data_type = DataType::BF16};
  copy.bytes_read = 500'000'000'000;
  EXPECT_DOUBLE_EQ(power_of(copy, second), 100 + 400 * 0.75 * 0.5);
  NodeFields both = gemm;
  both.flops = 600'000'000'000;  // more than what saturates
  both.bytes_written = 900'000'000'000;
  EXPECT_DOUBLE_EQ(power_of(both, second), 500);
}

TEST(Power, OfWorkThatIsNotKnownIsThatOfMemory) {
  EXPECT_DOUBLE_EQ(power_of({.duration_ps = 1'000}, core::Time{1'000}), 100 + 400 * 0.75);
}

TEST(Energy, AddsUpKernelsIdleTimeNodesAndSwitches) {
  const NodeFields gemm{
      .operation = Operation::GEMM, .data_type = DataType::BF16, .flops = 100'000'000'000};
  double seconds = 0;
  const auto energy = energy_of(two_devices(gemm, true), powered_accelerator(),
                                {.node_mw = 1'000'000, .switch_mw = 500'000}, &seconds);
  const double busy = 0.1;  // at the peak: at the limit
  ASSERT_GT(seconds, busy);
  ASSERT_TRUE(energy);
  EXPECT_NEAR(energy->computing_j, 2 * 400 * busy, 1e-9);
  EXPECT_NEAR(energy->communicating_j, 2 * 50 * (seconds - busy), 1e-9);
  EXPECT_NEAR(energy->idle_j, 2 * 100 * seconds, 1e-9);
  EXPECT_NEAR(energy->nodes_j, 1'000 * seconds * energy->node_count, 1e-9);
  EXPECT_NEAR(energy->total_j(), energy->devices_j() + energy->nodes_j + energy->switches_j, 1e-9);
}

// 64 devices in nodes of 4, 8 leaves, 2 leaves and 2 spines a pod, 4 cores: what is inside nodes is
// the nodes' own.
TEST(Energy, OfTheNetworkIsOfItsSwitchesAndLinksOutsideNodes) {
  model::Fabric fabric = round_fabric();
  fabric.nodes->planes = 3;
  const WorkloadGraph graph = collectives(model::schema::CollectiveType::ALL_REDUCE, 64, 1'000'000);
  const model::Cluster cluster(graph, powered_accelerator(), fabric, {});
  const auto power =
      model::constant_power_of(cluster, {.node_mw = 1'000, .switch_mw = 1'000, .link_mw = 1'000});
  const auto topology = model::make_topology(fabric, 64);
  const double inside = 16 * 3;
  EXPECT_DOUBLE_EQ(power.idle_w, 6'400);
  EXPECT_DOUBLE_EQ(power.nodes_w, 16);
  EXPECT_DOUBLE_EQ(power.switches_w, topology->switches() - inside);
  const double leaves = 8, spines = 8, cores = 4;
  EXPECT_DOUBLE_EQ(power.switches_w, leaves + spines + cores);
  EXPECT_GE(power.links_w, 64 + leaves * 2);
  EXPECT_DOUBLE_EQ(power.links_w,
                   static_cast<double>(topology->counts().links) - 64.0 * fabric.nodes->planes);
}

TEST(Energy, IsNotKnownWithoutThePowerOfTheDevice) {
  double seconds = 0;
  EXPECT_FALSE(
      energy_of(two_devices({.duration_ps = 1'000}, false), round_accelerator(), {}, &seconds));
}

// One second and its launch of 250 ms, of a kernel measured at 300 W.
TEST(Power, IsWhatWasMeasuredOfTheKernelItself) {
  Accelerator accelerator = powered_accelerator();
  accelerator.launch_latency = core::Time{core::kPicosecondsPerSecond / 4};
  const core::Time second{core::kPicosecondsPerSecond};
  model::Priced priced{.duration = second, .provenance = model::Provenance::measured};
  priced.watts = 300;
  EXPECT_EQ(model::power_provenance(priced), model::Provenance::measured);
  priced.watts_provenance = model::Provenance::derived;
  EXPECT_DOUBLE_EQ(model::above_idle_w(accelerator, {}, priced, second), 200 * 0.75);
  EXPECT_EQ(model::power_provenance(priced), model::Provenance::derived);
  priced.watts = 0;
  EXPECT_DOUBLE_EQ(model::above_idle_w(accelerator, {}, priced, second), 300);
  EXPECT_EQ(model::power_provenance(priced), model::Provenance::modelled);
}

// A product of which the table has the time (0.1 s) and the watts.
TEST(Energy, OfAKernelIsItsMeasuredWattsForItsTime) {
  auto tables = std::make_shared<model::KernelTables>("");
  tables->add(model::KernelTable::from_rows(
      "rows", {.operation = "gemm", .data_type = "bfloat16", .keys = {}, .axes = {"m", "n", "k"}},
      std::vector<model::KernelTable::Row>{{{}, {1024, 1024, 1024}, 1e5, 320},
                                           {{}, {2048, 1024, 1024}, 2e5, 480}}));
  Accelerator accelerator = powered_accelerator();
  accelerator.tables = tables;
  const NodeFields gemm{
      .operation = Operation::GEMM, .data_type = DataType::BF16, .flops = 2'000'000};
  const WorkloadGraph graph =
      two_devices(gemm, false, model::GemmShape{.m = 1024, .n = 1024, .k = 1024});
  model::ClusterOptions options;
  options.compute.fidelity = model::ComputeFidelity::table;
  const model::Cluster cluster(graph, accelerator, round_fabric(), options);
  const ClusterRun run = run_cluster(cluster);
  const auto energy = model::energy_of(cluster, run.outcome, {});
  ASSERT_TRUE(energy);
  EXPECT_NEAR(energy->computing_j, 2 * (320 - 100) * 0.1, 1e-3 * 44);
  using model::Provenance;
  EXPECT_EQ(energy->computing_by_provenance_j[static_cast<std::size_t>(Provenance::measured)],
            energy->computing_j);
}

}  // namespace
}  // namespace exawarp::tests
