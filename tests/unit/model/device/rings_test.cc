// The code of plain rings and that of all collectives give the same times: a rule with a chunk that
// no message reaches changes nothing but which of them runs.
#include "model/device/rings.h"

#include <gtest/gtest.h>

#include "core/random.h"
#include "model/workload/validate.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::Time;
using schema::CollectiveType;
using schema::NodeKind;
using schema::StreamKind;

constexpr CollectiveType kTypes[] = {CollectiveType::ALL_REDUCE, CollectiveType::REDUCE_SCATTER,
                                     CollectiveType::ALL_GATHER, CollectiveType::BARRIER};

struct Shape {
  std::uint32_t inner, outer;  // the axes of the mesh; rings run along either or both
  std::uint64_t seed;
};

// Eight collectives of random types, sizes and axes, each after a computation of random length, so
// that chunks come early. One stream: two would meet on an interface, in an order of events.
WorkloadGraph random_rings(const Shape& shape) {
  std::uint64_t draw = 0;
  const auto below = [&](std::uint64_t n) { return core::random_bits(shape.seed, draw++) % n; };
  WorkloadBuilder workload("rings");
  const auto inner = workload.add_axis("inner", shape.inner);
  const auto outer = workload.add_axis("outer", shape.outer);
  const std::uint16_t groups[] = {workload.add_group("inside", {inner}),
                                  workload.add_group("across", {outer}),
                                  workload.add_group("all", {inner, outer})};
  ProgramBuilder& program = workload.add_program("member");
  const auto compute = program.add_stream("compute", StreamKind::COMPUTE);
  const auto network = program.add_stream("network", StreamKind::COMMUNICATION);
  for (int i = 0; i < 8; ++i) {
    const auto ready = program.add_node(
        {.stream = compute, .duration_ps = below(5'000'000)});
    const CollectiveType type = kTypes[below(4)];
    const std::uint64_t bytes = below(std::uint64_t{1} << below(24));
    program.add_node({.kind = NodeKind::COLLECTIVE,
                      .stream = network,
                      .collective = type,
                      .group = groups[below(3)],
                      .comm_bytes = type == CollectiveType::BARRIER ? 0 : bytes},
                     {ready});
  }
  workload.bind_range(0, {.axis = inner, .first = 0, .count = shape.inner});
  WorkloadGraph graph = workload.build();
  validate(graph);
  return graph;
}

ClusterOptions options_of(bool general, std::uint64_t seed) {
  ClusterOptions options;
  constexpr std::int64_t kNoMessage = std::int64_t{1} << 40;
  options.collectives = {
      CollectiveRule{.choice = {.channels = 1, .chunk_bytes = general ? kNoMessage : 0}}};
  options.compute_jitter = 0.25;
  options.seed = seed;
  return options;
}

tests::ClusterRun run(const WorkloadGraph& graph, const ClusterOptions& options) {
  const Cluster cluster(graph, tests::round_accelerator(), tests::round_fabric(), options);
  return tests::run_cluster(cluster);
}

TEST(Rings, TakeTheSameTimesByTheirOwnCodeAsByThatOfAllCollectives) {
  std::uint64_t seed = 1;
  for (std::uint32_t inner = 1; inner <= 9; ++inner) {
    for (const std::uint32_t outer : {1u, 2u, 3u, 8u}) {
      const WorkloadGraph graph = random_rings({inner, outer, ++seed});
      const tests::ClusterRun own = run(graph, options_of(false, seed));
      const tests::ClusterRun general = run(graph, options_of(true, seed));
      ASSERT_EQ(own.outcome.unfinished(), 0u);
      EXPECT_EQ(own.outcome.simulated_time(), general.outcome.simulated_time()) << "seed " << seed;
      EXPECT_EQ(own.outcome.total().time_ps, general.outcome.total().time_ps) << "seed " << seed;
      EXPECT_NE(own.result.digest, general.result.digest) << "the same code, seed " << seed;
    }
  }
}

// A mesh of four by two on nodes of four: of the groups along either axis, those of the first are
// inside a node, and so keep their time.
TEST(Rings, ARuleForGroupsAcrossNodesLeavesThoseInsideAlone) {
  const auto time_of = [](bool along_first, bool slow_across) {
    WorkloadBuilder workload("one");
    const auto first = workload.add_axis("first", 4);
    const auto second = workload.add_axis("second", 2);
    const auto group = workload.add_group("group", {along_first ? first : second});
    ProgramBuilder& program = workload.add_program("member");
    program.add_node({.kind = NodeKind::COLLECTIVE,
                      .stream = program.add_stream("network", StreamKind::COMMUNICATION),
                      .collective = CollectiveType::ALL_REDUCE,
                      .group = group,
                      .comm_bytes = 1 << 20});
    workload.bind_range(0, {.axis = first, .first = 0, .count = 4});
    WorkloadGraph graph = workload.build();
    validate(graph);
    ClusterOptions options;
    if (slow_across) {
      options.collectives = {CollectiveRule{
          .across_nodes = true, .choice = {.payload_ppm = {500'000, 500'000}}}};
    }
    const Cluster cluster(graph, tests::round_accelerator(), tests::round_fabric(), options);
    return tests::run_cluster(cluster).outcome.simulated_time();
  };
  EXPECT_EQ(time_of(true, true), time_of(true, false));
  EXPECT_GT(time_of(false, true), time_of(false, false));
}

}  // namespace
}  // namespace exawarp::tests
