// Devices whose messages go as flows: what does not contend takes what it takes at message
// fidelity, and what does shares its links.
#include <gtest/gtest.h>

#include "core/error.h"
#include "model/workload/validate.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::Time;
using schema::CollectiveType;

// One device a node below one switch: every message crosses the fabric, and the switch blocks none.
Fabric nodes_of_one() {
  Fabric fabric = tests::round_fabric();
  fabric.nodes->devices = 1;
  tests::tree_of(fabric).devices_per_leaf = 64;
  return fabric;
}

ClusterOptions as_flows(ClusterOptions options = {}) {
  options.flows.emplace().routing.policy = "ecmp";
  return options;
}

Outcome outcome_of(const WorkloadGraph& graph, const Fabric& fabric,
                   const ClusterOptions& options) {
  const Cluster cluster(graph, tests::round_accelerator(), fabric, options);
  tests::ClusterRun done = tests::run_cluster(cluster);
  EXPECT_EQ(done.outcome.unfinished(), 0u);
  return done.outcome;
}

Time time_of(const WorkloadGraph& graph, const Fabric& fabric, const ClusterOptions& options) {
  return outcome_of(graph, fabric, options).simulated_time();
}

TEST(FlowDevice, ARingWithoutContentionTakesWhatItsMessagesTake) {
  for (const auto type : {CollectiveType::ALL_REDUCE, CollectiveType::ALL_GATHER}) {
    const auto graph = tests::collectives(type, 8, 64'000, 3);
    const Time by_messages = time_of(graph, nodes_of_one(), {});
    const Outcome by_flows = outcome_of(graph, nodes_of_one(), as_flows());
    EXPECT_GE(by_flows.simulated_time(), by_messages);
    // A notice and 1 ps where the last thing is word that a message has left.
    EXPECT_LE(by_flows.simulated_time(), by_messages + Time{3 * tests::kLeafLatency.ps / 8 + 6});
    EXPECT_EQ(by_flows.flows().largest_part, 1u);
    EXPECT_GT(by_flows.flows().ended, 0u);
  }
}

TEST(FlowDevice, MessagesInsideANodeAreNoFlows) {
  const auto graph = tests::collectives(CollectiveType::ALL_REDUCE, 4, 4'000);
  EXPECT_EQ(outcome_of(graph, tests::round_fabric(), as_flows()).flows().started, 0u);
  EXPECT_EQ(time_of(graph, tests::round_fabric(), as_flows()),
            time_of(graph, tests::round_fabric(), {}));
}

TEST(FlowDevice, StagesOfAPipelineHearLateThatAMessageHasLeft) {
  const auto graph = tests::two_stage_pipeline({.micro_batches = 4,
                                                .forward = Time{50'000'000},
                                                .backward = Time{100'000'000},
                                                .bytes = 100'000});
  Fabric fabric = nodes_of_one();
  const Time by_messages = time_of(graph, fabric, {});
  const Time by_flows = time_of(graph, fabric, as_flows());
  EXPECT_GE(by_flows, by_messages);
  EXPECT_LE(by_flows, by_messages + Time{8 * (tests::kLeafLatency.ps / 8 + 3)});
}

TEST(FlowDevice, BackgroundTrafficIsRefused) {
  const auto graph = tests::collectives(CollectiveType::ALL_REDUCE, 8, 4'000);
  ClusterOptions options = as_flows();
  options.backgrounds.push_back({});
  EXPECT_THROW(Cluster(graph, tests::round_accelerator(), nodes_of_one(), options),
               core::InputError);
}

TEST(FlowDevice, ARoutingByPacketsIsRefused) {
  const auto graph = tests::collectives(CollectiveType::ALL_REDUCE, 8, 4'000);
  ClusterOptions options;
  options.flows.emplace().routing.policy = "adaptive";
  EXPECT_THROW(Cluster(graph, tests::round_accelerator(), nodes_of_one(), options),
               core::InputError);
}

}  // namespace
}  // namespace exawarp::tests
