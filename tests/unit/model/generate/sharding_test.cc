// What data parallelism sends, in its kinds of sharding, against counts worked out by hand
// (split_transformer.h).
#include <gtest/gtest.h>

#include <vector>

#include "model/generate/transformer.h"
#include "tests/support/workload_builders.h"
#include "tests/unit/model/generate/split_transformer.h"

namespace exawarp::tests {
namespace {

using namespace model;
using schema::CollectiveType;

TEST(Sharding, PlainDataParallelismAllReducesGradientsOnceAStep) {
  const WorkloadGraph graph = generate_transformer(split({.data = 4, .sharding = Sharding::kNone}));
  EXPECT_EQ(total_of(graph, "gradient.all_reduce"), (Total{4, 4 * (4 * kLayer + 64 + 2 * kTable)}));
  EXPECT_EQ(total_of(graph, "parameter.all_gather").count, 0u);
  EXPECT_EQ(flops_of(graph, "adam"), 10 * (4 * kLayer + 64 + 2 * kTable));
  EXPECT_EQ(total_of(graph, "gradient_norm.all_reduce").count, 0u);  // all have all gradients
}

TEST(Sharding, Zero2ReducesEachLayerAfterEachMicroBatch) {
  const WorkloadGraph graph =
      generate_transformer(split({.data = 4, .sharding = Sharding::kZero2}));
  // 4 layers, the head and the embedding, twice.
  EXPECT_EQ(total_of(graph, "gradient.reduce_scatter"),
            (Total{12, 2 * 4 * (4 * kLayer + 64 + 2 * kTable)}));
  EXPECT_EQ(total_of(graph, "parameter.all_gather").count, 4u);
}

TEST(Sharding, Zero3GathersEachLayerForwardAndBackwardInEachMicroBatch) {
  const WorkloadGraph graph =
      generate_transformer(split({.data = 4, .sharding = Sharding::kZero3}));
  // Layers and head twice, the embedding once, in each of 2 micro-batches; shards in bf16.
  const std::uint64_t shards = 2 * (4 * kLayer + kTable + 64) + kTable;
  EXPECT_EQ(total_of(graph, "parameter.all_gather"), (Total{2 * 11, 2 * 2 * shards / 4}));
  EXPECT_EQ(total_of(graph, "gradient.reduce_scatter").count, 12u);
}

TEST(Sharding, Zero3WithoutReshardingGathersOnceAStep) {
  const WorkloadGraph graph = generate_transformer(
      split({.data = 4, .sharding = Sharding::kZero3, .reshard_after_forward = false}));
  EXPECT_EQ(total_of(graph, "parameter.all_gather").count, 6u);
  EXPECT_EQ(total_of(graph, "gradient.reduce_scatter").count, 4u);  // the buckets, once a step
}

// A gather starts when the computation of the unit so many before its own does.
TEST(Sharding, PrefetchDepthSaysHowFarAheadParametersAreGathered) {
  for (const std::int64_t depth : {0, 1, 2}) {
    TransformerSpec spec = split({.data = 4, .sharding = Sharding::kZero3});
    spec.parallel.prefetch_layers = depth;
    const WorkloadGraph graph = generate_transformer(spec);
    const Program& nodes = graph.program(0);
    std::vector<std::uint32_t> gathers;
    for (std::uint32_t i = 0; i < nodes.node_count(); ++i) {
      if (graph.node_name(nodes.node(i)) == "parameter.all_gather") gathers.push_back(i);
    }
    // The fifth unit is layer 3 of the first micro-batch: unit 0 is the embedding.
    const auto gather = nodes.node(gathers[4]);
    ASSERT_EQ(gather.getDependencyCount(), 1u);
    const auto after = nodes.node(nodes.dependency(gather, 0));
    EXPECT_EQ(after.getLayer(), depth == 2 ? 0 : depth == 1 ? 1 : 2) << "depth " << depth;
  }
}

// As DeepSpeed did in 2021: a collective for each matrix, parameters released after recomputation.
TEST(Sharding, Zero3GathersAndReducesALayerInParts) {
  TransformerSpec spec = split({.data = 4, .sharding = Sharding::kZero3, .layer_collectives = 4});
  WorkloadGraph graph = generate_transformer(spec);
  const std::uint64_t head = kTable + 64;  // with the last norm; each of four parts is padded
  const std::uint64_t shards = 2 * (4 * kLayer + head) + kTable;
  EXPECT_EQ(total_of(graph, "parameter.all_gather"), (Total{4 * 2 * 11, 2 * 2 * shards / 4}));
  EXPECT_EQ(total_of(graph, "gradient.reduce_scatter"),
            (Total{4 * 12, 2 * 4 * (4 * kLayer + head + kTable)}));
  spec.parallel.regather_after_recompute = true;
  EXPECT_EQ(total_of(generate_transformer(spec), "parameter.all_gather").count, 4u * 2 * 11);
  spec.recompute.kind = Recompute::kFull;
  graph = generate_transformer(spec);
  EXPECT_EQ(total_of(graph, "parameter.all_gather"),
            (Total{4 * 2 * 15, 2 * 2 * (shards + 4 * kLayer) / 4}));
}

// Each waits for the collective before it, so nothing that the host handles overlaps another.
TEST(Sharding, AHostThatHandlesMembersOneByOneHoldsEachCollectiveUp) {
  TransformerSpec spec = split({.data = 4, .sharding = Sharding::kZero3, .layer_collectives = 2});
  spec.parallel.member_time = core::Time{10'000'000};
  const WorkloadGraph graph = generate_transformer(spec);
  const Program& nodes = graph.program(0);
  std::size_t waits = 0;
  for (std::uint32_t i = 0; i < nodes.node_count(); ++i) {
    const auto node = nodes.node(i);
    const std::string name = graph.node_name(node);
    if (name == "host.members") {
      ++waits;
      EXPECT_EQ(node.getDurationPs(), 4u * 10'000'000);
    } else if (name == "parameter.all_gather" || name == "gradient.reduce_scatter") {
      ASSERT_EQ(node.getDependencyCount(), 1u);
      EXPECT_EQ(graph.node_name(nodes.node(nodes.dependency(node, 0))), "host.members");
    }
  }
  EXPECT_EQ(waits, 2u * (2 * 11 + 12));
}

TEST(Sharding, ListsAreCopiedAfterGathersAndBeforeReductions) {
  TransformerSpec spec = split({.data = 4, .sharding = Sharding::kZero3, .list_copies = true});
  const WorkloadGraph graph = generate_transformer(spec);
  const Program& nodes = graph.program(0);
  std::uint64_t read[2] = {}, written[2] = {};
  for (std::uint32_t i = 0; i < nodes.node_count(); ++i) {
    const auto node = nodes.node(i);
    const std::string name = graph.node_name(node);
    if (name != "parameter.copy" && name != "gradient.copy") continue;
    const int which = name == "parameter.copy" ? 0 : 1;
    read[which] += node.getBytesRead();
    written[which] += node.getBytesWritten();
  }
  // Two micro-batches; all but the embedding twice; bf16, and gradients in fp32.
  const std::uint64_t gathered = 2 * 2 * (2 * (4 * kLayer + kTable + 64) + kTable);
  const std::uint64_t reduced = 2 * 4 * (4 * kLayer + 64 + 2 * kTable);
  EXPECT_EQ(read[0], gathered);
  EXPECT_EQ(written[0], 2 * gathered);
  EXPECT_EQ(read[1], 2 * reduced);
  EXPECT_EQ(written[1], 2 * reduced);
}

TEST(Sharding, WithoutOverlapBackwardWaitsForEachLayersReduction) {
  for (const bool overlaps : {true, false}) {
    TransformerSpec spec = split({.data = 4, .sharding = Sharding::kZero2});
    spec.overlap.gradients = overlaps;
    const WorkloadGraph graph = generate_transformer(spec);
    const Program& nodes = graph.program(0);
    std::size_t awaited = 0;
    for (std::uint32_t i = 0; i < nodes.node_count(); ++i) {
      const auto node = nodes.node(i);
      if (node.getKind() != schema::NodeKind::COMPUTE) continue;
      for (std::uint32_t d = 0; d < node.getDependencyCount(); ++d) {
        const auto before = nodes.node(nodes.dependency(node, d));
        awaited += graph.node_name(before) == "gradient.reduce_scatter" ? 1 : 0;
      }
    }
    EXPECT_EQ(awaited, overlaps ? 1u : 12u);  // the optimizer waits for the last one
  }
}

TEST(Sharding, HybridShardingSumsOverCopiesOnceAStep) {
  const WorkloadGraph graph =
      generate_transformer(split({.data = 4, .sharding = Sharding::kZero3, .shard_group = 2}));
  EXPECT_EQ(graph.axis_count(), 4u);  // tensor, data 2, replica 2, pipeline
  EXPECT_EQ(total_of(graph, "gradient.reduce_scatter").count, 12u);
  const Total copies = total_of(graph, "gradient.replica.all_reduce");
  EXPECT_EQ(copies, (Total{6, 4 * (4 * kLayer + 64 + 2 * kTable) / 2}));
}

}  // namespace
}  // namespace exawarp::tests
