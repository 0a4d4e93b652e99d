// Power over time, against what one sees from the workload.
#include "model/energy/power_trace.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "model/energy/energy.h"
#include "model/energy/power_figures.h"
#include "model/workload/validate.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using core::Time;
using Kind = model::PowerTrace::Kind;

constexpr Time kMillisecond{1'000'000'000};

// Devices 0 and 1 compute for 2.5 ms, then sum up 100 kB.
model::WorkloadGraph compute_then_reduce() {
  model::WorkloadBuilder workload("two devices");
  const auto axis = workload.add_axis("data", 2);
  const auto group = workload.add_group("data", {axis});
  model::ProgramBuilder& program = workload.add_program("p");
  const auto compute = program.add_stream("compute", model::schema::StreamKind::COMPUTE);
  const auto data = program.add_stream("data", model::schema::StreamKind::COMMUNICATION);
  const auto gemm = program.add_node({.stream = compute,
                                      .operation = model::schema::Operation::GEMM,
                                      .data_type = model::schema::DataType::BF16,
                                      .flops = 2'500'000'000});
  program.add_node({.kind = model::schema::NodeKind::COLLECTIVE,
                    .stream = data,
                    .collective = model::schema::CollectiveType::ALL_REDUCE,
                    .group = group,
                    .comm_bytes = 100'000'000},
                   {gemm});
  workload.bind_range(0, {.axis = axis, .first = 0, .count = 2});
  model::WorkloadGraph graph = workload.build();
  model::validate(graph);
  return graph;
}

double joules(const model::PowerTrace& trace, const model::PowerTrace::Series& series) {
  return model::figures_of({series.watts, trace.width(), trace.end()}).mean_w *
         core::to_seconds(trace.end());
}

TEST(PowerTrace, SaysWhatEachInstantDraws) {
  const model::WorkloadGraph graph = compute_then_reduce();
  const model::Cluster cluster(graph, powered_accelerator(), round_fabric(), {.trace_power = true});
  const TracedPower power{.system = {.node_mw = 800'000}, .options = {.devices = {1}}};
  const ClusterRun run = run_cluster(cluster, {}, &power);
  const auto& series = run.power->series();
  ASSERT_EQ(series[0].name, "cluster");
  ASSERT_EQ(run.power->width(), kMillisecond);
  ASSERT_GE(series[0].watts.size(), 4u);
  const auto& device = series.back();
  EXPECT_EQ(device.name, "device 1");
  EXPECT_NEAR(device.watts[0], 500, 1e-6);
  EXPECT_NEAR(device.watts[1], 500, 1e-6);
  EXPECT_NEAR(device.watts[2], 0.5 * 500 + 0.5 * 150, 1e-6);
  EXPECT_NEAR(device.watts[3], 150, 1e-6);
  // Two devices of a node of 4, which draws half of what a whole one would.
  EXPECT_NEAR(series[0].watts[0], 2 * 500 + 0.5 * 800, 1e-6);
}

TEST(PowerTrace, AddsUpToTheEnergyOfTheRun) {
  const model::WorkloadGraph graph = small_training_step({.tensor = 4, .data = 4, .pipeline = 2});
  const model::Cluster cluster(graph, powered_accelerator(), round_fabric(),
                               {.compute_jitter = 0.2, .trace_power = true});
  const model::SystemPower system{
      .node_mw = 800'000, .switch_mw = 300'000, .link_mw = 20'000, .nodes_per_rack = 2};
  const TracedPower power{.system = system, .options = {.bin = Time{1'000'000}}};
  const ClusterRun run = run_cluster(cluster, {}, &power);
  const auto energy = model::energy_of(cluster, run.outcome, system);
  ASSERT_TRUE(energy);
  std::map<Kind, double> sums;
  std::map<Kind, std::size_t> counts;
  for (const auto& series : run.power->series()) {
    sums[series.kind] += joules(*run.power, series);
    ++counts[series.kind];
  }
  // Milliwatts are whole numbers.
  EXPECT_NEAR(sums[Kind::cluster], energy->total_j(), 1e-5 * energy->total_j());
  EXPECT_NEAR(sums[Kind::device_class], energy->devices_j(), 1e-5 * energy->total_j());
  const double nodes_j = energy->devices_j() + energy->nodes_j;
  EXPECT_NEAR(sums[Kind::node], nodes_j, 1e-5 * nodes_j);
  EXPECT_NEAR(sums[Kind::rack], nodes_j, 1e-5 * nodes_j);
  EXPECT_EQ(counts[Kind::node], 8u);
  EXPECT_EQ(counts[Kind::rack], 4u);
  EXPECT_EQ(counts[Kind::device], 0u);
  EXPECT_GT(energy->links_j, 0);
}

TEST(PowerTrace, DoublesItsBinsWhereTheyAreTooMany) {
  const model::WorkloadGraph graph = small_training_step({.tensor = 4, .data = 2, .pipeline = 2});
  const model::Cluster cluster(graph, powered_accelerator(), round_fabric(), {.trace_power = true});
  const TracedPower fine{.system = {}, .options = {.bin = Time{1'000'000}, .bins_max = 2'048}};
  const TracedPower few{.system = {}, .options = {.bin = Time{1'000'000}, .bins_max = 8}};
  const ClusterRun all = run_cluster(cluster, {}, &fine), some = run_cluster(cluster, {}, &few);
  EXPECT_EQ(all.power->width(), fine.options.bin);
  EXPECT_GT(some.power->width(), few.options.bin);
  EXPECT_LE(some.power->series()[0].watts.size(), 8u);
  EXPECT_GE(some.power->series()[0].watts.size(), 4u);
  EXPECT_NEAR(joules(*all.power, all.power->series()[0]),
              joules(*some.power, some.power->series()[0]), 1e-9);
}

// Of 8 steps the main line of the spectrum is the steps' own frequency.
TEST(PowerTrace, SwingsWithTheSteps) {
  model::Accelerator accelerator = powered_accelerator();
  accelerator.matrix_flops_per_s.fill(1e14);
  model::ParallelSpec parallel;
  parallel.data = 8;
  const model::WorkloadGraph graph = small_llama(parallel, 8);
  const model::Cluster cluster(graph, accelerator, round_fabric(), {.trace_power = true});
  const ClusterRun silent = run_cluster(cluster);
  const double step_s = core::to_seconds(silent.outcome.iteration_time());
  const Time bin{silent.outcome.iteration_time().ps / 64};
  const TracedPower power{.system = {}, .options = {.bin = bin}};
  const ClusterRun run = run_cluster(cluster, {}, &power);
  const auto& watts = run.power->series()[0].watts;
  const auto lines = model::spectrum_of({watts, run.power->width(), run.power->end()});
  ASSERT_FALSE(lines.empty());
  EXPECT_NEAR(lines[0].hz * step_s, 1, 0.02);
  EXPECT_GT(lines[0].amplitude_w, 100);
}

std::string refusal(const model::Cluster& cluster, const model::PowerTraceOptions& options) {
  try {
    const model::PowerTrace trace(cluster, {}, 1, options);
  } catch (const core::InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(PowerTrace, RefusesWhatTheClusterDoesNotHave) {
  const model::WorkloadGraph graph = compute_then_reduce();
  const model::Cluster cluster(graph, powered_accelerator(), round_fabric(), {.trace_power = true});
  EXPECT_EQ(refusal(cluster, {.devices = {0, 2}}), "power: no such device: 2; expected 0 to 1");
  EXPECT_EQ(refusal(cluster, {.nodes = {1}}), "power: no such node: 1; expected 0 to 0");
  EXPECT_EQ(refusal(cluster, {.racks = {7}}), "power: no such rack: 7; expected 0 to 0");
  EXPECT_EQ(refusal(cluster, {.devices = {1, 1}}), "accepted");
}

TEST(PowerTrace, OfFoldedDevicesIsThatOfAll) {
  const model::WorkloadGraph graph = small_training_step({.tensor = 4, .data = 4, .pipeline = 2});
  const auto traced = [&](model::Folding folding) {
    const model::Cluster cluster(
        graph, powered_accelerator(), round_fabric(),
        {.analytical_network = true, .folding = folding, .trace_power = true});
    EXPECT_EQ(cluster.device_lps() < cluster.device_count(), folding != model::Folding::off);
    const TracedPower power{.system = {}, .options = {.bin = Time{1'000'000}}};
    return run_cluster(cluster, {}, &power).power;
  };
  const auto whole = traced(model::Folding::off), folded = traced(model::Folding::required);
  EXPECT_EQ(whole->series()[0].watts, folded->series()[0].watts);
  EXPECT_EQ(whole->series()[1].watts, folded->series()[1].watts);
  EXPECT_EQ(folded->series().back().kind, Kind::device_class);
}

}  // namespace
}  // namespace exawarp::tests
