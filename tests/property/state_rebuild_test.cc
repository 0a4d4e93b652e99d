// At random moments of random runs every state is described to bytes, destroyed, and made anew of
// the bytes; the run ends with the digest of one that was left alone. What a checkpoint will stand
// on. A failure prints the seed.
#include <gtest/gtest.h>

#include "model/topology/dragonfly.h"
#include "pdes/phold.h"
#include "tests/support/cluster_fixture.h"
#include "tests/support/draws.h"
#include "tests/support/goal_runs.h"
#include "tests/support/seeds.h"
#include "tests/support/storm_model.h"
#include "tests/support/traffic_fixture.h"

namespace exawarp::tests {
namespace {

using core::Time;
using model::FlowControl;
using model::PacketOptions;
using model::Recovery;

// Sequential, and optimistic with rollbacks: about every `events` events of a partition.
std::vector<tests::RunCase> rebuilding_cases(std::uint64_t events, Time window) {
  return {{.sync = pdes::Sync::sequential, .rebuild_events = events},
          {.sync = pdes::Sync::optimistic,
           .threads = 2,
           .partitions_per_rank = 3,
           .window = window,
           .rebuild_events = events}};
}

TEST(StateRebuild, OfStormsLeavesTheDigest) {
  for (const std::uint64_t seed : case_seeds(1, 5)) {
    const tests::StormOptions storm = tests::random_storm(seed);
    const auto model = tests::make_storm(storm);
    const tests::MatrixModel matrix{.model = model.get(),
                                    .placer = tests::blocks_of(storm.lps, storm.atom_shift),
                                    .seed = seed};
    const pdes::RunResult expected = tests::run_case(matrix, {});
    for (const tests::RunCase& run : rebuilding_cases(100, Time{500})) {
      EXPECT_EQ(tests::run_case(matrix, run).digest, expected.digest)
          << "seed " << seed << " " << run.text();
    }
  }
}

// The deliberate fault that the property has to find. The digest of its runs lacks the sum, too,
// so that it is the lost field that changes what happens.
TEST(StateRebuild, LosesAFieldThatTheDescriptionLeavesOut) {
  tests::StormOptions storm = tests::random_storm(3);
  storm.leaves_out_a_field = true;
  const auto model = tests::make_storm(storm);
  const tests::MatrixModel matrix{.model = model.get(),
                                  .placer = tests::blocks_of(storm.lps, storm.atom_shift)};
  const core::Digest expected = tests::run_case(matrix, {}).digest;
  EXPECT_EQ(tests::run_case(matrix, {}).digest, expected);
  EXPECT_NE(tests::run_case(matrix, {.rebuild_events = 40}).digest, expected);
}

TEST(StateRebuild, OfPholdLeavesTheDigest) {
  const auto model = pdes::make_phold({.lps = 64, .remote = 0.5});
  const tests::MatrixModel matrix{
      .model = model.get(), .placer = tests::blocks_of(64, 0), .end = Time{40'000'000}};
  const pdes::RunResult expected = tests::run_case(matrix, {});
  EXPECT_GT(expected.total.committed_events(), 1'000u);
  for (const tests::RunCase& run : rebuilding_cases(100, Time{2'000'000})) {
    EXPECT_EQ(tests::run_case(matrix, run).digest, expected.digest) << run.text();
  }
}

TEST(StateRebuild, OfGoalHostsLeavesTheDigest) {
  for (const std::uint64_t seed : case_seeds(1, 4)) {
    const auto schedule = tests::random_schedule(seed, 6);
    for (const std::uint64_t eager_limit : {0u, 1500u}) {
      const auto parameters = tests::random_parameters(seed, eager_limit);
      const tests::GoalRun expected = tests::run_goal(schedule, parameters);
      for (const tests::RunCase& run : rebuilding_cases(20, Time{std::int64_t{1} << 40})) {
        const tests::GoalRun result = tests::run_goal(schedule, parameters, run);
        EXPECT_EQ(result.digest, expected.digest) << "seed " << seed << " " << run.text();
        EXPECT_EQ(result.finish, expected.finish) << "seed " << seed << " " << run.text();
      }
    }
  }
}

PacketOptions random_packets(Draws& draw, FlowControl control) {
  PacketOptions o = tests::plain_packets();
  o.cut_through = draw.chance(2);
  o.flow_control = control;
  o.buffer_bytes = control == FlowControl::pfc ? 0 : 12'000;
  o.xoff_bytes = 6'000;
  o.xon_bytes = 4'000;
  o.ecn = {.kmin_bytes = 3'000, .kmax_bytes = 9'000, .pmax_per_mille = 300};
  if (control == FlowControl::none) {
    o.recovery = draw.chance(2) ? Recovery::selective_repeat : Recovery::go_back_n;
    o.transport = draw.chance(2) ? "window" : "dcqcn";
  }
  if (control == FlowControl::pfc) o.transport = "dcqcn";
  o.routing.seed = draw.below(1'000);
  o.in_order = draw.chance(2);
  return o;
}

constexpr FlowControl kControls[] = {FlowControl::none, FlowControl::credit, FlowControl::pfc};

TEST(StateRebuild, OfTrafficLeavesTheDigest) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    Draws draw(seed, 0x7e8);
    const auto topology = tests::leaf_spine(16, 4, 2);
    const model::TrafficModel traffic(*topology, random_packets(draw, kControls[seed % 3]),
                                      {.pattern = model::TrafficPattern::shift,
                                       .message_bytes = 9'000,
                                       .messages = 3,
                                       .shift = 5 + draw.below(6),
                                       .one_by_one = draw.chance(2)},
                                      1);
    const tests::TrafficRun expected = tests::run_traffic(traffic, {}, 1);
    EXPECT_EQ(expected.totals.unfinished, 0u);
    for (const tests::RunCase& run : rebuilding_cases(50, Time{2'000'000})) {
      EXPECT_EQ(tests::run_traffic(traffic, run, 1).digest, expected.digest)
          << "seed " << seed << " " << run.text();
    }
  }
}

// Links slow or down for a while, jitter, slow devices, and background beside the job.
model::ClusterOptions random_troubles(Draws& draw) {
  model::ClusterOptions o;
  o.compute_jitter = 0.1;
  o.seed = 1 + draw.below(1'000);
  o.eager_max_bytes = 10'000;
  o.slow_devices = {{.devices = {draw.below(12), 12 + draw.below(12)}, .factor_ppm = 1'500'000}};
  o.link_faults = {{.drawn_links = model::FaultDraw{.share = 0.2, .seed = draw.below(100)},
                    .factor_ppm = 3'000'000,
                    .from = Time{5'000'000},
                    .place = "slow"}};
  o.latency_jitter.mean = Time{300'000};
  o.backgrounds = {{.pattern = draw.chance(2) ? model::BackgroundPattern::uniform
                                              : model::BackgroundPattern::permutation,
                    .load_ppm = 100'000 + draw.below(200'000),
                    .until = Time{200'000'000},
                    .seed = draw.below(1'000)}};
  return o;
}

void expect_rebuildable(const model::ClusterOptions& options, std::uint64_t seed,
                        std::uint64_t events) {
  const model::WorkloadGraph graph = tests::small_training_step(
      {.tensor = 4, .data = 3, .pipeline = 2, .micro_batches = 2, .layers = 1});
  const model::Cluster cluster(graph, tests::round_accelerator(), tests::round_fabric(), options);
  const tests::ClusterRun expected = tests::run_cluster(cluster);
  EXPECT_EQ(expected.outcome.unfinished(), 0u) << "seed " << seed;
  for (const tests::RunCase& run : rebuilding_cases(events, Time{5'000'000})) {
    const tests::ClusterRun result = tests::run_cluster(cluster, run);
    EXPECT_EQ(result.result.digest, expected.result.digest) << "seed " << seed << " " << run.text();
    EXPECT_EQ(result.outcome.sums_to_words(), expected.outcome.sums_to_words()) << run.text();
  }
}

TEST(StateRebuild, OfAnAnalyticalClusterLeavesTheDigest) {
  for (const std::uint64_t seed : case_seeds(1, 3)) {
    Draws draw(seed, 0x7e8);
    expect_rebuildable({.analytical_network = true,
                        .compute_jitter = 0.2,
                        .seed = 1 + draw.below(1'000),
                        .slow_devices = {{.devices = {draw.below(24)}, .factor_ppm = 1'500'000}}},
                       seed, 200);
  }
}

TEST(StateRebuild, OfAClusterOfMessagesLeavesTheDigest) {
  for (const std::uint64_t seed : case_seeds(1, 3)) {
    Draws draw(seed, 0x7e8);
    expect_rebuildable(random_troubles(draw), seed, 200);
  }
}

TEST(StateRebuild, OfAClusterOfPacketsLeavesTheDigest) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    Draws draw(seed, 0x7e8);
    model::ClusterOptions options = random_troubles(draw);
    options.packets = random_packets(draw, kControls[seed]);
    options.packets->packet_bytes = 8'000;
    options.packets->buffer_bytes = kControls[seed] == FlowControl::pfc ? 0 : 40'000;
    options.packets->ecn = {.kmin_bytes = 16'000, .kmax_bytes = 64'000, .pmax_per_mille = 300};
    options.packets->xoff_bytes = 40'000;
    options.packets->xon_bytes = 24'000;
    options.packets_inside_nodes = draw.chance(2);
    expect_rebuildable(options, seed, 3'000);
  }
}

}  // namespace
}  // namespace exawarp::tests
