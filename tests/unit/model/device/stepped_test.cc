// Devices run every algorithm in the time of its closed form, and the same in every mode.
#include "model/device/stepped.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "model/collective/cost.h"
#include "model/workload/validate.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::Time;
using schema::CollectiveType;
using schema::NodeKind;
using schema::StreamKind;

// Nodes of 64: any group of the tests is inside one, on equal links.
Fabric one_large_node() {
  Fabric fabric = tests::round_fabric();
  fabric.nodes->devices = 64;
  return fabric;
}

// No nodes, 64 devices below one leaf: the same across the fabric.
Fabric one_large_leaf() {
  Fabric fabric = tests::round_fabric();
  fabric.nodes->devices = 1;
  tests::tree_of(fabric).devices_per_leaf = 64;
  return fabric;
}

struct EqualLinks {
  Fabric fabric;
  StepCost cost;
};
std::vector<EqualLinks> equal_links() {
  return {{one_large_node(), {tests::kNodeLatency, 100'000'000'000}},
          {one_large_leaf(), {tests::kLeafLatency, 10'000'000'000}}};
}

struct Case {
  CollectiveType type;
  Choice choice;
  std::uint32_t members;
};

std::vector<Case> every_case(std::uint32_t members, std::int64_t bytes) {
  std::vector<Case> all;
  for (auto type = CollectiveType::ALL_REDUCE; type <= CollectiveType::PERMUTE;
       type = static_cast<CollectiveType>(static_cast<int>(type) + 1)) {
    for (std::size_t a = 0; a < kAlgorithmNames.size(); ++a) {
      Case c{.type = type, .choice = {.algorithm = static_cast<Algorithm>(a)}, .members = members};
      if (!can_run(type, c.choice.algorithm)) continue;
      all.push_back(c);
      if (!can_use_lanes(c.choice.algorithm)) continue;
      c.choice.channels = 4;
      c.choice.both_ways = true;
      all.push_back(c);
      c.choice = {.algorithm = c.choice.algorithm, .channels = 2, .chunk_bytes = bytes / 11 + 1};
      all.push_back(c);
    }
  }
  return all;
}

std::string text(const Case& c) {
  return "type " + std::to_string(static_cast<int>(c.type)) + " by " +
         std::string(kAlgorithmNames[static_cast<std::size_t>(c.choice.algorithm)]) + ", " +
         std::to_string(c.members) + " members, channels " + std::to_string(c.choice.channels);
}

ClusterOptions options_of(const Case& c) {
  ClusterOptions options;
  options.collectives = {CollectiveRule{.choice = c.choice}};
  return options;
}

Collective collective_of(const Case& c, std::int64_t bytes, std::uint32_t root) {
  const CollectiveUse use{.type = c.type, .bytes = bytes, .members = c.members};
  return {.type = c.type,
          .algorithm = c.choice.algorithm,
          .bytes = bytes,
          .members = c.members,
          .root = is_rooted(c.type) ? root : 0,
          .shift = c.type == CollectiveType::PERMUTE ? root : 0,
          .lanes = lanes_of(c.choice, use)};
}

std::uint32_t root_of(const Case& c) {
  return is_rooted(c.type) || c.type == CollectiveType::PERMUTE ? c.members / 2 : 0;
}

Time simulated(const WorkloadGraph& graph, const Fabric& fabric, const ClusterOptions& options,
               const tests::RunCase& run = {}) {
  const Cluster cluster(graph, tests::round_accelerator(), fabric, options);
  const tests::ClusterRun done = tests::run_cluster(cluster, run);
  EXPECT_EQ(done.outcome.unfinished(), 0u);
  return done.outcome.simulated_time();
}

void expect_closed_forms(bool analytical, const std::vector<std::int64_t>& sizes) {
  for (const EqualLinks& links : equal_links()) {
    for (std::uint32_t n = 2; n <= 33; ++n) {
      for (const std::int64_t bytes : sizes) {
        for (const Case& c : every_case(n, bytes)) {
          const auto graph = tests::collectives(c.type, n, static_cast<std::uint64_t>(bytes), 1,
                                                root_of(c));
          ClusterOptions options = options_of(c);
          options.analytical_network = analytical;
          EXPECT_EQ(simulated(graph, links.fabric, options).ps,
                    collective_time(collective_of(c, bytes, root_of(c)), links.cost).ps)
              << text(c) << ", " << bytes << " bytes";
        }
      }
    }
  }
}

// Messages that are mostly latency, of about as much wire as latency, and mostly wire.
TEST(Stepped, EveryAlgorithmTakesItsClosedForm) {
  expect_closed_forms(false, {1'000, 100'003, 3'000'017});
}

TEST(Stepped, AnalyticalTakesTheClosedFormItself) { expect_closed_forms(true, {100'003}); }

// On nodes of a fat tree, in groups that fill nodes and one that does not. What the network carries
// out is not folded, nor is a root that waits for several that do the same. Lanes of a ring meet
// at the members by which they leave a node, in one picosecond, so these may be taken in another
// order.
TEST(Stepped, EveryAlgorithmTakesAsLongWhereDevicesAreFolded) {
  int folded = 0, smaller = 0;
  for (const std::uint32_t n : {6u, 16u, 32u}) {
    for (const Case& c : every_case(n, 100'003)) {
      const auto graph = tests::collectives(c.type, n, 100'003, 1, root_of(c));
      ClusterOptions options = options_of(c);
      const Time whole = simulated(graph, tests::round_fabric(), options);
      options.folding = Folding::required;
      try {
        const Cluster cluster(graph, tests::round_accelerator(), tests::round_fabric(), options);
        smaller += cluster.device_lps() < cluster.device_count();
        const auto run = tests::run_cluster(cluster);
        EXPECT_EQ(run.outcome.unfinished(), 0u) << text(c);
        const Time time = run.outcome.simulated_time();
        if (c.choice.algorithm == Algorithm::ring && c.choice.channels > 1) {
          EXPECT_LE(std::abs(time.ps - whole.ps), whole.ps / 100) << text(c);
        } else {
          EXPECT_EQ(time.ps, whole.ps) << text(c);
        }
        ++folded;
      } catch (const core::InputError& error) {
        const bool to_one =
            c.type == CollectiveType::REDUCE || c.type == CollectiveType::GATHER;
        EXPECT_TRUE(c.choice.algorithm == Algorithm::in_network ||
                    (c.choice.algorithm == Algorithm::direct && to_one))
            << text(c) << ": " << error.what();
      }
    }
  }
  EXPECT_GT(folded, 100);
  EXPECT_GT(smaller, 50);
}

// Members come at different times, several collectives of every type one after another, beside
// a second stream: early messages, run-ahead of roots, waits for interfaces.
WorkloadGraph mixture(std::uint32_t devices) {
  WorkloadBuilder workload("mixture");
  const auto inner = workload.add_axis("tensor", 4);
  const auto outer = workload.add_axis("data", devices / 4);
  const auto all = workload.add_group("all", {inner, outer});
  const auto across = workload.add_group("data", {outer});
  const std::uint32_t sizes = workload.add_sizes({0, 5'000, 100, 0, 70'000, 3, 9, 20'000});
  ProgramBuilder& program = workload.add_program("member");
  const auto compute = program.add_stream("compute", StreamKind::COMPUTE);
  const auto network = program.add_stream("network", StreamKind::COMMUNICATION);
  const auto other = program.add_stream("other", StreamKind::COMMUNICATION);
  for (int round = 0; round < 2; ++round) {
    for (auto type = CollectiveType::ALL_REDUCE; type <= CollectiveType::PERMUTE;
         type = static_cast<CollectiveType>(static_cast<int>(type) + 1)) {
      const auto ready = program.add_node({.stream = compute, .duration_ps = 3'000'000});
      const bool has_root = is_rooted(type) || type == CollectiveType::PERMUTE;
      NodeFields node{.kind = NodeKind::COLLECTIVE, .stream = network, .collective = type,
                      .group = all, .root = has_root ? devices / 3 : 0, .comm_bytes = 40'000};
      program.add_node(node, {ready});
      if (type == CollectiveType::ALL_TO_ALL && devices == 32) {
        node.group = across;
        node.sizes = sizes;
        node.stream = other;
        program.add_node(node);
      }
    }
  }
  workload.bind_range(0, {.axis = inner, .first = 0, .count = 4});
  WorkloadGraph graph = workload.build();
  validate(graph);
  return graph;
}

std::vector<CollectiveRules> rule_sets() {
  std::vector<CollectiveRules> sets{{}};
  for (std::size_t a = 0; a < kAlgorithmNames.size(); ++a) {
    Choice choice{.algorithm = static_cast<Algorithm>(a), .channels = 4, .chunk_bytes = 3'000,
                  .both_ways = true};
    choice.start = Time{a % 2 == 0 ? 0 : 700'000};
    choice.step = {Time{1'000}, Time{2'000}};
    choice.payload_ppm = {900'000, 900'000};
    sets.push_back({CollectiveRule{.choice = choice}});
    choice.hierarchical = true;
    choice.across = choice.algorithm;
    sets.push_back({CollectiveRule{.choice = choice}});
  }
  return sets;
}

void expect_same_in_every_mode(const WorkloadGraph& graph, const CollectiveRules& rules) {
  for (const bool analytical : {false, true}) {
    const ClusterOptions options{.analytical_network = analytical,
                                 .collectives = rules,
                                 .compute_jitter = 0.2,
                                 .seed = 5};
    const Cluster cluster(graph, tests::round_accelerator(), tests::round_fabric(), options);
    const tests::ClusterRun sequential = tests::run_cluster(cluster);
    ASSERT_EQ(sequential.outcome.unfinished(), 0u);
    for (const tests::RunCase& run :
         {tests::RunCase{.sync = pdes::Sync::conservative, .threads = 2, .partitions_per_rank = 4},
          tests::RunCase{.sync = pdes::Sync::optimistic, .partitions_per_rank = 8,
                        .audit_probability = 0.2},
          tests::RunCase{.sync = pdes::Sync::optimistic, .ranks = 2, .threads = 2,
                        .partitions_per_rank = 2, .chaos_seed = 7}}) {
      EXPECT_EQ(tests::run_cluster(cluster, run).result.digest, sequential.result.digest)
          << run.text() << ", rules for "
          << (rules.empty()
                  ? "nothing"
                  : kAlgorithmNames[static_cast<std::size_t>(rules[0].choice.algorithm)])
          << (analytical ? ", analytical" : "");
    }
  }
}

TEST(Stepped, IsTheSameInEveryModeUnderAuditWithJitter) {
  const WorkloadGraph graph = mixture(32);
  for (const CollectiveRules& rules : rule_sets()) expect_same_in_every_mode(graph, rules);
}

TEST(Stepped, IsTheSameInEveryModeInGroupsOfNoPowerOfTwo) {
  const WorkloadGraph graph = mixture(24);
  for (const auto algorithm : {Algorithm::halving, Algorithm::doubling, Algorithm::double_tree}) {
    expect_same_in_every_mode(
        graph, {CollectiveRule{.choice = {.algorithm = algorithm, .channels = 4}}});
  }
}

// PAT on nodes of a fat tree, in groups that fill nodes or straddle them: message by message it
// takes its closed form, and any mode gives one digest.
TEST(Stepped, PatIsTheSameInEveryModeAndTakesItsClosedFormAcrossNodes) {
  for (const auto type : {CollectiveType::ALL_GATHER, CollectiveType::REDUCE_SCATTER}) {
    for (const std::uint32_t n : {5u, 12u, 32u}) {
      const auto graph = tests::collectives(type, n, 100'003);
      ClusterOptions options;
      options.collectives = {CollectiveRule{.choice = {.algorithm = Algorithm::pat}}};
      const Time alone = simulated(graph, tests::round_fabric(), options);
      options.analytical_network = true;
      EXPECT_EQ(simulated(graph, tests::round_fabric(), options), alone) << n;
      for (const bool analytical : {false, true}) {
        options.analytical_network = analytical;
        const Cluster cluster(graph, tests::round_accelerator(), tests::round_fabric(), options);
        const auto digest = tests::run_cluster(cluster).result.digest;
        for (const auto sync : {pdes::Sync::conservative, pdes::Sync::optimistic}) {
          for (const std::uint32_t ranks : {1u, 2u}) {
            const tests::RunCase run{.sync = sync, .ranks = ranks, .partitions_per_rank = 2};
            EXPECT_EQ(tests::run_cluster(cluster, run).result.digest, digest) << run.text();
          }
        }
      }
    }
  }
}

// Leaders in nodes of 4, with parts of nodes' shares and chunks in a pipeline; one node as well.
TEST(Stepped, TreesOverNodesAreTheSameInEveryModeAndTakeTheirAnalyticalTime) {
  for (const std::uint32_t n : {4u, 8u, 20u, 64u}) {
    const auto graph = tests::collectives(CollectiveType::ALL_REDUCE, n, 8'000'003);
    for (const std::uint32_t channels : {2u, 4u}) {
      Choice choice{.algorithm = Algorithm::nvls_tree, .channels = channels};
      choice.chunk_bytes = 500'000;
      choice.payload_ppm = {800'000, 950'000};
      ClusterOptions options;
      options.collectives = {CollectiveRule{.choice = choice}};
      const Time alone = simulated(graph, tests::round_fabric(), options);
      options.analytical_network = true;
      EXPECT_EQ(simulated(graph, tests::round_fabric(), options), alone) << n;
      options.analytical_network = false;
      const Cluster cluster(graph, tests::round_accelerator(), tests::round_fabric(), options);
      const auto digest = tests::run_cluster(cluster).result.digest;
      for (const auto sync : {pdes::Sync::conservative, pdes::Sync::optimistic}) {
        const tests::RunCase run{.sync = sync, .ranks = 2, .partitions_per_rank = 2};
        EXPECT_EQ(tests::run_cluster(cluster, run).result.digest, digest) << run.text();
      }
    }
  }
}

TEST(Stepped, OverheadsAreAddedOnceAndToEachMessage) {
  Choice choice{.algorithm = Algorithm::doubling};
  choice.start = Time{5'000'000};
  choice.step = {Time{300'000}, Time{0}};
  choice.payload_ppm = {500'000, 500'000};
  const auto graph = tests::collectives(CollectiveType::ALL_REDUCE, 8, 1'000);
  ClusterOptions options;
  options.collectives = {CollectiveRule{.choice = choice}};
  const Time expected = Time{5'000'000} + 3 * (tests::kNodeLatency + Time{300'000 + 2'000 * 10});
  EXPECT_EQ(simulated(graph, one_large_node(), options), expected);
  options.analytical_network = true;
  EXPECT_EQ(simulated(graph, one_large_node(), options), expected);
}

// Four nodes of 4: each lane leaves a node by another member, so the slow interfaces of all four
// carry a quarter of the bytes each.
TEST(Stepped, LanesOfARingLeaveTheNodeByDifferentMembers) {
  const auto graph = tests::collectives(CollectiveType::ALL_REDUCE, 16, 64'000'000);
  // 30 rounds; the slow interfaces never rest, so only the last latency shows.
  for (const std::uint32_t lanes : {1u, 2u, 4u, 16u}) {
    ClusterOptions options;
    options.collectives = {CollectiveRule{.choice = {.channels = lanes}}};
    const Time share{4'000'000 * tests::kScaleOutPsPerByte / std::min(lanes, 4u)};
    const Time run = simulated(graph, tests::round_fabric(), options);
    EXPECT_GE(run, 30 * share);
    EXPECT_LE(run, 30 * (share + tests::kPodLatency)) << lanes;
  }
}

// `members` along an axis of `stride` devices.
WorkloadGraph in_strides(CollectiveType type, std::uint32_t members, std::uint32_t stride,
                         std::uint64_t bytes) {
  WorkloadBuilder workload("strides");
  const auto inner = workload.add_axis("inner", stride);
  const auto outer = workload.add_axis("outer", members);
  const auto group = workload.add_group("all", {outer});
  ProgramBuilder& program = workload.add_program("member");
  const auto network = program.add_stream("network", StreamKind::COMMUNICATION);
  program.add_node({.kind = NodeKind::COLLECTIVE,
                    .stream = network,
                    .collective = type,
                    .group = group,
                    .comm_bytes = bytes});
  workload.bind_range(0, {.axis = inner, .first = 0, .count = stride});
  WorkloadGraph graph = workload.build();
  validate(graph);
  return graph;
}

// Nodes of 4 whose interfaces the members of a group own in part: by default a ring has as many
// lanes, and the bytes leave by all of them.
TEST(Stepped, ByDefaultARingUsesEachInterfaceOfANodeThatItsMembersOwn) {
  for (const auto type : {CollectiveType::ALL_REDUCE, CollectiveType::REDUCE_SCATTER,
                          CollectiveType::ALL_GATHER}) {
    for (const std::uint32_t stride : {1u, 2u, 4u}) {
      const std::uint64_t bytes = type == CollectiveType::ALL_GATHER ? 1'000'000 : 16'000'000;
      const auto graph = in_strides(type, 16, stride, bytes);
      for (const bool analytical : {false, true}) {
        ClusterOptions options;
        options.analytical_network = analytical;
        const Time run = simulated(graph, tests::round_fabric(), options);
        options.collectives = {CollectiveRule{.choice = {.channels = 4 / stride}}};
        EXPECT_EQ(run, simulated(graph, tests::round_fabric(), options)) << stride;
        options.collectives = {CollectiveRule{.choice = {.channels = 1}}};
        const Time by_one = simulated(graph, tests::round_fabric(), options);
        EXPECT_NEAR(core::to_seconds(by_one), core::to_seconds(run) * (4 / stride),
                    core::to_seconds(by_one) * 0.1)
            << stride;
      }
    }
  }
}

TEST(Stepped, ByDefaultARingOfOneNodeOrOfSmallMessagesHasOneLane) {
  const auto digest = [](const WorkloadGraph& graph, const CollectiveRules& rules) {
    ClusterOptions options;
    options.collectives = rules;
    const Cluster cluster(graph, tests::round_accelerator(), tests::round_fabric(), options);
    return tests::run_cluster(cluster).result.digest;
  };
  const CollectiveRules one{CollectiveRule{.choice = {.channels = 1}}};
  for (const auto& graph : {tests::collectives(CollectiveType::ALL_REDUCE, 4, 16'000'000),
                            tests::collectives(CollectiveType::ALL_REDUCE, 16, 100'000),
                            tests::collectives(CollectiveType::BARRIER, 16, 0)}) {
    EXPECT_EQ(digest(graph, {}), digest(graph, one));
  }
}

// The closed form of rings with lanes through whole nodes: as message by message.
class LanesAcrossNodes : public testing::TestWithParam<std::uint32_t> {};
TEST_P(LanesAcrossNodes, TakeTheSameTimeAnalyticallyAsByMessage) {
  const std::uint32_t members = GetParam();
  Fabric fabric = tests::round_fabric();
  fabric.nodes->devices = 8;
  tests::tree_of(fabric).devices_per_leaf = 32;
  for (const auto type : {CollectiveType::ALL_REDUCE, CollectiveType::REDUCE_SCATTER,
                          CollectiveType::ALL_GATHER}) {
    for (const std::uint64_t bytes : {std::uint64_t{1} << 16, std::uint64_t{1} << 24,
                                      std::uint64_t{1} << 30}) {
      const auto graph = tests::collectives(
          type, members, type == CollectiveType::ALL_GATHER ? bytes / members : bytes);
      ClusterOptions options;
      options.collectives = {CollectiveRule{.choice = {.channels = 8}}};
      const double by_message = core::to_seconds(simulated(graph, fabric, options));
      options.analytical_network = true;
      const double analytical = core::to_seconds(simulated(graph, fabric, options));
      EXPECT_NEAR(analytical, by_message, 0.01 * by_message) << bytes;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Stepped, LanesAcrossNodes, testing::Values(16u, 64u, 128u));

// Two nodes of 4 below one leaf, 16 MB: reduce-scatter of all in the node, all-reduce of a quarter
// across, all-gather of quarters. Each member has an interface of its own to the other node.
TEST(Hierarchical, GoesUpAcrossAndDown) {
  const auto graph = tests::collectives(CollectiveType::ALL_REDUCE, 8, 16'000'000);
  ClusterOptions options;
  Choice choice{.algorithm = Algorithm::ring, .hierarchical = true, .across = Algorithm::halving};
  choice.start = Time{5'000'000};
  options.collectives = {CollectiveRule{.choice = choice}};
  const Time inside = 3 * (tests::kNodeLatency + Time{4'000'000 * tests::kNodePsPerByte});
  const Time across = 2 * (tests::kLeafLatency + Time{2'000'000 * tests::kScaleOutPsPerByte});
  for (const bool analytical : {false, true}) {
    options.analytical_network = analytical;
    EXPECT_EQ(simulated(graph, tests::round_fabric(), options),
              Time{5'000'000} + 2 * inside + across)  // the overhead is paid once
        << analytical;
  }
}

TEST(Hierarchical, RunsAlongTheAxesOfItsGroup) {
  WorkloadBuilder workload("mesh");
  const auto inner = workload.add_axis("tensor", 4), outer = workload.add_axis("data", 2);
  const auto group = workload.add_group("all", {inner, outer});
  ProgramBuilder& program = workload.add_program("member");
  const auto stream = program.add_stream("network", StreamKind::COMMUNICATION);
  for (const auto type : {CollectiveType::REDUCE_SCATTER, CollectiveType::ALL_GATHER}) {
    program.add_node({.kind = NodeKind::COLLECTIVE, .stream = stream, .collective = type,
                      .group = group,
                      .comm_bytes = type == CollectiveType::ALL_GATHER ? 2'000u : 16'000u});
  }
  workload.bind_range(0, {.axis = inner, .first = 0, .count = 4});
  WorkloadGraph graph = workload.build();
  validate(graph);
  ClusterOptions options;
  options.collectives = {
      CollectiveRule{.choice = {.algorithm = Algorithm::direct, .hierarchical = true,
                                .across = Algorithm::direct}}};
  const Time inside = tests::kNodeLatency + Time{3 * 4'000 * tests::kNodePsPerByte};
  const Time across = tests::kLeafLatency + Time{2'000 * tests::kScaleOutPsPerByte};
  EXPECT_EQ(simulated(graph, tests::round_fabric(), options), 2 * (inside + across));
}

TEST(Choose, TheFirstRuleThatFits) {
  const CollectiveRules rules{
      {.type = CollectiveType::ALL_REDUCE,
       .max_bytes = 1'000,
       .choice = {.algorithm = Algorithm::tree}},
      {.min_group = 4, .choice = {.algorithm = Algorithm::halving}},
      {.choice = {.algorithm = Algorithm::direct}}};
  const auto algorithm = [&](CollectiveType type, std::int64_t bytes, std::uint32_t n) {
    return choose(rules, {.type = type, .bytes = bytes, .members = n})->algorithm;
  };
  EXPECT_EQ(algorithm(CollectiveType::ALL_REDUCE, 1'000, 8), Algorithm::tree);
  EXPECT_EQ(algorithm(CollectiveType::ALL_REDUCE, 1'001, 8), Algorithm::halving);
  EXPECT_EQ(algorithm(CollectiveType::ALL_REDUCE, 1'001, 3), Algorithm::direct);
  EXPECT_EQ(algorithm(CollectiveType::BROADCAST, 10, 8), Algorithm::direct);  // halving cannot
}

TEST(Choose, ByWhetherAGroupIsInOneNode) {
  const CollectiveRules rules{
      {.across_nodes = false, .choice = {.algorithm = Algorithm::direct}},
      {.max_bytes = 1'000, .across_nodes = true, .choice = {.algorithm = Algorithm::tree}},
      {.choice = {.algorithm = Algorithm::ring}}};
  const auto algorithm = [&](std::int64_t bytes, bool across_nodes) {
    return choose(rules, {.type = CollectiveType::ALL_REDUCE, .bytes = bytes, .members = 4,
                          .across_nodes = across_nodes})
        ->algorithm;
  };
  EXPECT_EQ(algorithm(10, false), Algorithm::direct);
  EXPECT_EQ(algorithm(10, true), Algorithm::tree);
  EXPECT_EQ(algorithm(1'001, true), Algorithm::ring);
}

TEST(Choose, LanesKeepMessagesToAChunk) {
  const Choice choice{.channels = 2, .chunk_bytes = 1'000};
  const auto lanes = [&](std::int64_t bytes) {
    return lanes_of(choice, {.type = CollectiveType::ALL_REDUCE, .bytes = bytes, .members = 8});
  };
  EXPECT_EQ(lanes(8), 2u);
  EXPECT_EQ(lanes(16'000), 2u);
  EXPECT_EQ(lanes(16'001), 4u);
  EXPECT_EQ(lanes(std::int64_t{1} << 40), kLanesMax);
}

}  // namespace
}  // namespace exawarp::tests
