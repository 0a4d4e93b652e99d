// A training step on the packet network in every mode: one digest and one outcome, with slow
// devices, slow and failed links, jitter, rendezvous, adaptive routing, and every way of flow
// control.
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using core::Time;
using model::FlowControl;
using model::PacketOptions;
using model::Recovery;

struct Setting {
  std::string name;
  FlowControl control = FlowControl::none;
  std::string routing = "adaptive";
  std::string transport = "plain";
  Recovery recovery = Recovery::none;
  bool inside_nodes = false;
  bool broken_links = false;
  bool in_order = false;
};

PacketOptions options_of(const Setting& s) {
  PacketOptions o;
  o.packet_bytes = 20'000;  // few packets: a thread sanitizer takes a minute for thousands more
  o.flow_control = s.control;
  o.buffer_bytes = s.control == FlowControl::pfc ? 0 : 100'000;
  if (s.control == FlowControl::none && s.recovery == Recovery::none) o.buffer_bytes = 0;
  o.xoff_bytes = 100'000;
  o.xon_bytes = 60'000;
  o.ecn = {.kmin_bytes = 40'000, .kmax_bytes = 160'000, .pmax_per_mille = 300};
  o.transport = s.transport;
  o.recovery = s.recovery;
  o.routing.policy = s.routing;
  o.routing.seed = 3;
  o.in_order = s.in_order;
  return o;
}

// Long links: the lookahead is that of a link, and a conservative run takes an epoch each time it
// passes.
model::Fabric long_links() {
  model::Fabric fabric = tests::round_fabric();
  model::ClosSpec& tree = tests::tree_of(fabric);
  for (model::LinkKind* links : {&tree.host, &tree.leaf_spine, &tree.spine_core}) {
    links->latency = Time{500'000};
  }
  return fabric;
}

// Some links take longer for a while, and one of four between leaves and spines is down early on.
std::vector<model::LinkFaultSpec> link_faults(const Setting& s) {
  if (!s.broken_links) return {};
  return {{.drawn_links = model::FaultDraw{.share = 0.2, .seed = 7},
           .factor_ppm = 3'000'000,
           .from = Time{5'000'000},
           .place = "slow"},
          {.drawn_links = model::FaultDraw{.share = 0.25, .kind = "leaf-spine", .seed = 5},
           .until = Time{20'000'000},
           .place = "failed"}};
}

// All of them on one setting; on the others one of each mode.
std::vector<tests::RunCase> cases_of(const Setting& s) {
  const Time tiny{700'000};
  std::vector<tests::RunCase> all = tests::differential_cases(tiny);
  if (s.name == "unbounded") return all;
  std::vector<tests::RunCase> some;
  for (const tests::RunCase& run : all) {
    if (run.ranks == run.threads || run.chaos_seed != 0) some.push_back(run);
  }
  return some;
}

class PacketTraining : public testing::TestWithParam<Setting> {
 protected:
  model::WorkloadGraph graph_ = tests::small_training_step(
      {.tensor = 4, .data = 3, .pipeline = 2, .micro_batches = 2, .layers = 1});
  model::Cluster cluster_{graph_,
                          tests::round_accelerator(),
                          long_links(),
                          {.packets = options_of(GetParam()),
                           .packets_inside_nodes = GetParam().inside_nodes,
                           .eager_max_bytes = 10'000,
                           .compute_jitter = 0.1,
                           .seed = 11,
                           .slow_devices = {{.devices = {5, 17}, .factor_ppm = 1'500'000}},
                           .link_faults = link_faults(GetParam())}};
};

TEST_P(PacketTraining, GivesOneDigestAndOneOutcome) {
  const tests::ClusterRun expected = tests::run_cluster(cluster_);
  EXPECT_EQ(expected.outcome.unfinished(), 0u);
  EXPECT_GT(expected.outcome.packets().packet_hops, 1'000u);
  std::uint64_t rolled_back = 0;
  for (const tests::RunCase& run : cases_of(GetParam())) {
    const tests::ClusterRun result = tests::run_cluster(cluster_, run);
    EXPECT_EQ(to_hex(result.result.digest), to_hex(expected.result.digest)) << run.text();
    EXPECT_EQ(result.outcome.sums_to_words(), expected.outcome.sums_to_words()) << run.text();
    EXPECT_EQ(result.outcome.packets().packet_hops, expected.outcome.packets().packet_hops);
    rolled_back += result.result.total.rolled_back_events;
  }
  EXPECT_GT(rolled_back, 0u);
}

TEST_P(PacketTraining, PassesTheRollbackAudit) {
  const tests::ClusterRun expected = tests::run_cluster(cluster_);
  const tests::ClusterRun result =
      tests::run_cluster(cluster_, tests::audited_case(Time{5'000'000}, 0.3));
  EXPECT_EQ(result.result.digest, expected.result.digest);
  EXPECT_GT(result.result.total.audited_events, 1'000u);
}

// What its software holds up comes after the port was told to stop: 500 kB here, five times xoff.
TEST(PacketCluster, WithPausesDropsNothingOfSlowSoftware) {
  const model::WorkloadGraph graph =
      tests::collectives(model::schema::CollectiveType::ALL_TO_ALL, 24, 4'800'000);
  const model::CollectiveRule rule{
      .choice = {.algorithm = model::Algorithm::pairwise, .step = {Time{0}, Time{50'000'000}}}};
  const model::Cluster cluster(
      graph, tests::round_accelerator(), tests::round_fabric(),
      {.packets = options_of({.name = "pauses", .control = FlowControl::pfc, .routing = "ecmp"}),
       .collectives = {rule}});
  const model::Outcome outcome = tests::run_cluster(cluster).outcome;
  EXPECT_EQ(outcome.unfinished(), 0u);
  EXPECT_EQ(outcome.packets().drops, 0u);
  EXPECT_GT(outcome.packets().pauses, 0u);
}

INSTANTIATE_TEST_SUITE_P(Settings, PacketTraining,
                         testing::Values(Setting{.name = "unbounded"},
                                         Setting{.name = "in_order",
                                                 .routing = "ecmp",
                                                 .inside_nodes = true,
                                                 .in_order = true},
                                         Setting{.name = "credit", .control = FlowControl::credit},
                                         Setting{.name = "pfc",
                                                 .control = FlowControl::pfc,
                                                 .transport = "dcqcn",
                                                 .inside_nodes = true,
                                                 .broken_links = true},
                                         Setting{.name = "lossy",
                                                 .routing = "spray",
                                                 .transport = "window",
                                                 .recovery = Recovery::selective_repeat}),
                         [](const auto& setting) { return setting.param.name; });

}  // namespace
}  // namespace exawarp::tests
