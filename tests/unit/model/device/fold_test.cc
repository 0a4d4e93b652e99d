// A folded run says of the job what the whole run says, to the picosecond, whatever the layout, at
// message fidelity but for the order of messages that come in one picosecond; and folding is
// refused where devices may differ.
#include "model/device/fold.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "model/generate/transformer.h"
#include "model/workload/validate.h"
#include "tests/support/cluster_fixture.h"
#include "tests/support/seeds.h"
#include "tests/support/workload_builders.h"

namespace exawarp::tests {
namespace {

using namespace model;
using schema::NodeKind;
using schema::StreamKind;

// What a run says of a job.
struct Said {
  core::Time step;
  std::vector<ClassTotals> classes;
  TrainingFigures training;
  std::uint64_t devices = 0, simulated = 0;
  std::string why_not;
};

struct Setting {
  PlacementSpec placement = {};
  std::uint32_t leaf_devices = 8;  // of round_fabric()
  std::int64_t eager_max_bytes = std::numeric_limits<std::int64_t>::max();
  bool analytical = true;  // else message fidelity
};

// With a rate for every type that a random transformer may ask for.
Accelerator round_accelerator() {
  Accelerator accelerator = tests::round_accelerator();
  accelerator.matrix_flops_per_s[static_cast<std::size_t>(schema::DataType::FP8)] = 2e12;
  return accelerator;
}

Said run(const WorkloadGraph& graph, Folding folding, const Setting& setting = {},
         ClusterOptions options = {}) {
  options.analytical_network = setting.analytical;
  options.eager_max_bytes = setting.eager_max_bytes;
  options.folding = folding;
  Fabric fabric = tests::round_fabric();
  tests::tree_of(fabric).devices_per_leaf = setting.leaf_devices;
  const Cluster cluster({Job{.name = "job", .graph = &graph, .placement = setting.placement}},
                        round_accelerator(), fabric, options);
  const Outcome outcome = tests::run_cluster(cluster).outcome;
  EXPECT_EQ(outcome.unfinished(), 0u);
  return {.step = outcome.iteration_time(),
          .classes = {outcome.classes().begin(), outcome.classes().end()},
          .training = outcome.training(),
          .devices = outcome.devices(),
          .simulated = cluster.device_lps(),
          .why_not = cluster.why_not_folded()};
}

void expect_same(const Said& folded, const Said& whole) {
  EXPECT_EQ(folded.step, whole.step);
  EXPECT_EQ(folded.devices, whole.devices);
  EXPECT_EQ(folded.training.tokens_per_s, whole.training.tokens_per_s);
  EXPECT_EQ(folded.training.model_flops_utilisation, whole.training.model_flops_utilisation);
  ASSERT_EQ(folded.classes.size(), whole.classes.size());
  for (std::size_t c = 0; c < whole.classes.size(); ++c) {
    const ClassTotals &a = folded.classes[c], &b = whole.classes[c];
    EXPECT_EQ(a.devices, b.devices) << b.name;
    EXPECT_EQ(a.finished, b.finished) << b.name;
    EXPECT_TRUE(a.time_ps == b.time_ps) << b.name;
    EXPECT_TRUE(a.finish_ps == b.finish_ps) << b.name;
    EXPECT_EQ(a.last_finish, b.last_finish) << b.name;
  }
}

// Returns how many devices were simulated.
std::uint64_t expect_exact(const WorkloadGraph& graph, const Setting& setting = {}) {
  const Said folded = run(graph, Folding::required, setting);
  expect_same(folded, run(graph, Folding::off, setting));
  return folded.simulated;
}

TEST(Fold, IsTheWholeRunOfAnyTransformer) {
  std::uint64_t devices = 0, simulated = 0;
  for (const std::uint64_t seed : case_seeds(1, 100)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const WorkloadGraph graph = generate_transformer(random_transformer(seed));
    devices += graph.device_count();
    simulated += expect_exact(graph);
  }
  EXPECT_LT(2 * simulated, devices);
}

TEST(Fold, IsTheWholeRunWhereRanksAreScattered) {
  std::uint64_t devices = 0, simulated = 0;
  for (const std::uint64_t seed : case_seeds(1, 40)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const WorkloadGraph graph = generate_transformer(random_transformer(seed));
    devices += graph.device_count();
    simulated += expect_exact(graph, {.placement = {.kind = PlacementKind::random, .seed = seed}});
    if (graph.device_count() % 4 != 0) continue;  // the others would leave devices idle
    expect_exact(graph, {.placement = {.kind = PlacementKind::nodes, .round_robin = true}});
  }
  EXPECT_GT(4 * simulated, devices);  // many do not do the same
}

TEST(Fold, IsTheWholeRunWhereReplicasAreSplitBetweenLeaves) {
  for (const std::uint64_t seed : case_seeds(1, 40)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    expect_exact(generate_transformer(random_transformer(seed)), {.leaf_devices = 12});
  }
}

TEST(Fold, IsTheWholeRunWhereMessagesAskFirst) {
  for (const std::uint64_t seed : case_seeds(1, 20)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    expect_exact(generate_transformer(random_transformer(seed)), {.eager_max_bytes = 0});
  }
}

TEST(Fold, SimulatesOneDeviceOfEachStage) {
  const WorkloadGraph graph = tests::small_training_step({.tensor = 4, .data = 6, .pipeline = 2});
  EXPECT_EQ(expect_exact(graph), 2u);
}

// Of three replicas of two stages on leaves of three nodes, one is split between two leaves.
TEST(Fold, KeepsAReplicaThatIsPlacedDifferently) {
  const WorkloadGraph graph = tests::small_llama(
      {.tensor = 4, .pipeline = 2, .data = 3, .order = {"tensor", "pipeline", "data"}});
  EXPECT_EQ(expect_exact(graph, {.leaf_devices = 12}), 4u);
}

// ---- at message fidelity

constexpr Setting kMessages{.analytical = false};

// How many of `seeds` random transformers have the step time of the whole run, and the devices.
struct Tried {
  int same = 0, tried = 0;
  std::uint64_t devices = 0, simulated = 0;
};

Tried try_transformers(std::uint64_t seeds, const Setting& setting) {
  Tried tried;
  for (const std::uint64_t seed : case_seeds(1, seeds)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const WorkloadGraph graph = generate_transformer(random_transformer(seed));
    const Said folded = run(graph, Folding::required, setting);
    const Said whole = run(graph, Folding::off, setting);
    // The order in one picosecond moves few messages, and each by little.
    EXPECT_NEAR(static_cast<double>(folded.step.ps) / static_cast<double>(whole.step.ps), 1, 0.03);
    tried.same += folded.step == whole.step;
    ++tried.tried;
    tried.devices += folded.devices;
    tried.simulated += folded.simulated;
  }
  return tried;
}

TEST(FoldedMessages, AreThoseOfTheWholeRunOfMostTransformers) {
  const Tried tried = try_transformers(100, kMessages);
  EXPECT_GE(10 * tried.same, 8 * tried.tried) << tried.same;
  EXPECT_LT(3 * tried.simulated, 2 * tried.devices);
}

TEST(FoldedMessages, AskFirst) {
  const Tried tried = try_transformers(20, {.eager_max_bytes = 0, .analytical = false});
  EXPECT_GE(10 * tried.same, 8 * tried.tried) << tried.same;
}

TEST(FoldedMessages, AreThoseOfTheWholeRunWhereNoTwoComeAtOnce) {
  const WorkloadGraph graph = tests::small_training_step({.tensor = 4, .data = 6, .pipeline = 2});
  EXPECT_LT(expect_exact(graph, kMessages), graph.device_count());
}

// Where each device is of a class of its own, it has its own number.
TEST(FoldedMessages, AreThoseOfTheWholeRunWhereAllDevicesDiffer) {
  int differ = 0;
  for (const std::uint64_t seed : case_seeds(1, 40)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const WorkloadGraph graph = generate_transformer(random_transformer(seed));
    const Setting scattered{.placement = {.kind = PlacementKind::random, .seed = seed},
                            .analytical = false};
    const Said folded = run(graph, Folding::required, scattered);
    if (folded.simulated < folded.devices) continue;
    ++differ;
    expect_same(folded, run(graph, Folding::off, scattered));
  }
  EXPECT_GT(differ, 0);
}

TEST(FoldedMessages, AreNotFoldedUnasked) {
  const WorkloadGraph graph = tests::small_training_step({});
  const Said said = run(graph, Folding::automatic, kMessages);
  EXPECT_EQ(said.simulated, said.devices);
  EXPECT_EQ(said.why_not, "messages contend at network.fidelity message");
}

// ---- what sets devices apart

std::string refused(const ClusterOptions& options) {
  const WorkloadGraph graph = tests::small_training_step({});
  try {
    run(graph, Folding::required, {}, options);
  } catch (const core::InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Fold, IsRefusedWhereComputeTimesVary) {
  EXPECT_EQ(refused({.compute_jitter = 0.01}),
            "fold: compute.jitter differs between devices; expected \"none\" or \"auto\"");
}

TEST(Fold, IsRefusedWhereDevicesAreSlow) {
  EXPECT_EQ(refused({.slow_devices = {{.devices = {3}, .factor_ppm = 2'000'000}}}),
            "fold: faults.slow_devices differ from others; expected \"none\" or \"auto\"");
}

TEST(Fold, IsRefusedWhereDevicesHaveNoJob) {
  EXPECT_EQ(refused({.devices = 64}),
            "fold: some devices have no job; expected \"none\" or \"auto\"");
}

TEST(Fold, IsRefusedWhereMessagesContendInTheNetwork) {
  const WorkloadGraph graph = tests::small_training_step({});
  EXPECT_THROW(Cluster(graph, tests::round_accelerator(), tests::round_fabric(),
                       {.packets = PacketOptions{}, .folding = Folding::required}),
               core::InputError);
}

TEST(Fold, SimulatesAllWhereItIsRefusedAndAutomatic) {
  const WorkloadGraph graph = tests::small_training_step({});
  const ClusterOptions jitter{.compute_jitter = 0.01};
  const Said said = run(graph, Folding::automatic, {}, jitter);
  expect_same(said, run(graph, Folding::off, {}, jitter));
  EXPECT_EQ(said.simulated, said.devices);
  EXPECT_EQ(said.why_not, "compute.jitter differs between devices");
  EXPECT_EQ(run(graph, Folding::automatic).why_not, "");
}

// One device sends the same to three that do the same, one after the other: they differ in when.
TEST(Fold, IsRefusedWhereMessagesCannotBeToldApart) {
  WorkloadBuilder workload("one to three");
  const auto axis = workload.add_axis("device", 4);
  ProgramBuilder& sender = workload.add_program("sender");
  sender.add_stream("send", StreamKind::COMMUNICATION);
  for (const std::int32_t to : {1, 2, 3}) {
    sender.add_node(
        {.kind = NodeKind::SEND, .stream = 0, .peer = to, .tag = 7, .comm_bytes = 1000});
  }
  ProgramBuilder& receiver = workload.add_program("receiver");
  receiver.add_stream("receive", StreamKind::COMMUNICATION);
  receiver.add_node(
      {.kind = NodeKind::RECEIVE, .stream = 0, .peer = 0, .tag = 7, .comm_bytes = 1000});
  workload.bind_range(0, {.axis = axis, .first = 0, .count = 1});
  workload.bind_range(1, {.axis = axis, .first = 1, .count = 3});
  WorkloadGraph graph = workload.build();
  validate(graph);
  EXPECT_EQ(run(graph, Folding::automatic).why_not,
            "devices 1 and 2 do the same, and messages of both to or from device 0 carry one tag");
  EXPECT_THROW(run(graph, Folding::required), core::InputError);
}

// A stand-in is named as the device that it is.
TEST(Fold, NamesADeviceThatWaits) {
  WorkloadBuilder workload("stuck");
  const auto axis = workload.add_axis("pipeline", 8);
  ProgramBuilder& silent = workload.add_program("silent");
  silent.add_stream("compute", StreamKind::COMPUTE);
  silent.add_node({.duration_ps = 1'000});
  ProgramBuilder& program = workload.add_program("stuck");
  program.add_stream("recv", StreamKind::COMMUNICATION);
  program.add_node({.kind = NodeKind::RECEIVE,
                    .stream = 0,
                    .peer_axis = 0,
                    .peer = -4,
                    .tag = 4,
                    .comm_bytes = 8});
  workload.bind_range(0, {.axis = axis, .first = 0, .count = 4});
  workload.bind_range(1, {.axis = axis, .first = 4, .count = 4});
  WorkloadGraph graph = workload.build();
  validate(graph);
  const auto stuck =
      tests::simulate(std::move(graph), {.analytical_network = true, .folding = Folding::required});
  EXPECT_EQ(stuck.cluster->device_lps(), 2u);
  EXPECT_EQ(stuck.outcome.unfinished(), 4u);
  ASSERT_EQ(stuck.outcome.waiting().size(), 1u);
  EXPECT_EQ(stuck.outcome.waiting()[0].text,
            "device 4 (stuck): stream \"recv\" waits at node 0 for a message from device 0, tag 4");
}

}  // namespace
}  // namespace exawarp::tests
