// What ways of splitting a transformer send, compute and hold, against counts worked out by hand
// (split_transformer.h).
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "model/generate/transformer.h"
#include "model/generate/transformer_costs.h"
#include "model/workload/validate.h"
#include "tests/support/workload_builders.h"
#include "tests/unit/model/generate/split_transformer.h"
#include "tests/unit/model/workload/refusal.h"

namespace exawarp::tests {
namespace {

using namespace model;
using schema::CollectiveType;

std::vector<std::string> names(const std::vector<NamedNode>& nodes) {
  std::vector<std::string> result;
  for (const NamedNode& node : nodes) result.push_back(node.name);
  return result;
}

ModelSpec with_experts() {
  ModelSpec model = tiny_llama().model;
  model.moe = {.experts = 8, .top_k = 2, .ffn = 96, .shared_ffn = 32, .dense_layers = 1};
  return model;
}

// ---- context parallelism

TEST(Context, RingPassesKeysAndValuesOnBesideEachPart) {
  const WorkloadGraph graph = generate_transformer(split({.context = 4}));
  // T = 16 tokens a rank; K and V of 16 wide; 4 layers, 2 micro-batches, 3 hops.
  const std::uint64_t hop = 2 * 2 * 16 * 16;
  EXPECT_EQ(total_of(graph, "keys_values.permute"), (Total{2 * 3 * 8, 2 * 3 * 8 * hop}));
  EXPECT_EQ(total_of(graph, "gradients.permute"), (Total{3 * 8, 3 * 8 * hop}));
  EXPECT_EQ(flops_of(graph, "attention"), 8 * 4ull * 16 * 32 * 64 / 2);
}

TEST(Context, AllGatherHasKeysAndValuesOfTheWholeSequence) {
  const WorkloadGraph graph =
      generate_transformer(split({.context = 4, .context_method = ContextMethod::kAllGather}));
  EXPECT_EQ(total_of(graph, "keys.all_gather"), (Total{8, 8 * 2 * 16 * 16}));
  EXPECT_EQ(total_of(graph, "values.reduce_scatter"), (Total{8, 8 * 2 * 16 * 16 * 4}));
}

TEST(Context, UlyssesExchangesHeadsForTheSequence) {
  const WorkloadGraph graph =
      generate_transformer(split({.context = 2, .context_method = ContextMethod::kUlysses}));
  EXPECT_EQ(total_of(graph, "heads.all_to_all"), (Total{16, 16 * 2 * 32 * (64 + 32)}));
  EXPECT_EQ(total_of(graph, "output.all_to_all"), (Total{16, 16 * 2 * 32 * 64}));
}

TEST(Context, GradientsAreReducedOverContextAndData) {
  const WorkloadGraph graph = generate_transformer(split({.data = 2, .context = 4}));
  const Program& nodes = graph.program(0);
  for (std::uint32_t i = 0; i < nodes.node_count(); ++i) {
    if (graph.node_name(nodes.node(i)) != "gradient.reduce_scatter") continue;
    EXPECT_EQ(graph.group(nodes.node(i).getGroup()).size, 8u);
    return;
  }
  FAIL() << "no gradient.reduce_scatter";
}

// ---- experts

TEST(Experts, ALayerSendsTokensToExpertsAndBack) {
  TransformerSpec spec = split({.tensor = 2, .data = 4, .expert = 4});
  spec.model = with_experts();
  const WorkloadGraph graph = generate_transformer(spec);
  EXPECT_EQ(names(tests::nodes_of(graph, 0, schema::Phase::FORWARD, 1, 0)),
            (std::vector<std::string>{"norm",
                                      "tensor.all_gather",
                                      "qkv",
                                      "rotary",
                                      "attention",
                                      "projection",
                                      "tensor.reduce_scatter",
                                      "residual",
                                      "norm",
                                      "router",
                                      "router.top_k",
                                      "permute",
                                      "expert.dispatch",
                                      "tensor.all_gather",
                                      "shared_in",
                                      "shared.activation",
                                      "shared_out",
                                      "tensor.reduce_scatter",
                                      "expert.all_gather",
                                      "expert_in",
                                      "expert.activation",
                                      "expert_out",
                                      "expert.reduce_scatter",
                                      "expert.combine",
                                      "unpermute",
                                      "residual"}));
  // 32 tokens a rank, each to 2 experts; forward and backward, 3 layers, 2 micro-batches.
  const std::uint64_t slots = 32 * 2;
  EXPECT_EQ(total_of(graph, "expert.dispatch"), (Total{12, 12 * 2 * slots * 64}));
  // All slots of the rank's 2 experts come together on both tensor ranks, which split each expert.
  EXPECT_EQ(flops_of(graph, "expert_in"), 6 * 2 * (2 * slots) * 64 * 2 * 48);
  EXPECT_EQ(flops_of(graph, "router"), 6 * 2 * 32 * 64 * 8);
  EXPECT_EQ(graph.program_count(), 1u);
}

TEST(Experts, GradientsOfExpertsAreReducedWhereTheyAreTheSame) {
  TransformerSpec spec = split({.tensor = 2, .data = 8, .expert = 4});
  spec.model = with_experts();
  const WorkloadGraph graph = generate_transformer(spec);
  // Of 3 layers 2 experts of 3 matrices, half of each, over 2 ranks.
  EXPECT_EQ(total_of(graph, "expert_gradient.reduce_scatter").bytes, 3u * 4 * 2 * 3 * 64 * 96 / 2);
  const std::uint64_t dense = (64 * (64 + 32) + 64 * 64) / 2 + 2 * 64;
  EXPECT_EQ(total_of(graph, "gradient.reduce_scatter").bytes,
            4 * (4 * dense + 3 * 64 * 160 / 2 + 3 * (64 * 8 + 3 * 64 * 32 / 2) + 64 + kTable));
}

TEST(Experts, ThatAreNotSplitGoWithTheTensorRanks) {
  TransformerSpec spec = split({.tensor = 2, .data = 4, .expert = 4, .expert_tensor = 1});
  spec.model = with_experts();
  const WorkloadGraph graph = generate_transformer(spec);
  EXPECT_EQ(total_of(graph, "expert.all_gather").count, 0u);
  EXPECT_EQ(flops_of(graph, "expert_in"), 6 * 2 * (32 * 2) * 64 * 2 * 96);
  EXPECT_EQ(total_of(graph, "expert.dispatch").count, 12u);
}

TEST(Experts, ImbalanceMakesAProgramForEachPlaceNotForEachRank) {
  TransformerSpec spec = split({.tensor = 2, .pipeline = 2, .data = 8, .expert = 4});
  spec.model = with_experts();
  spec.routing.imbalance = 0.5;
  const WorkloadGraph graph = generate_transformer(spec);
  EXPECT_EQ(graph.device_count(), 32u);
  EXPECT_EQ(graph.program_count(), 8u);
  EXPECT_TRUE(find_unmatched(graph).empty());
  // What all ranks send, all ranks get: no token is lost.
  for (const std::vector<std::uint64_t>& table : graph.size_tables()) {
    std::uint64_t sum = 0;
    for (const std::uint64_t bytes : table) sum += bytes;
    EXPECT_NEAR(static_cast<double>(sum), 4.0 * 32 * 2 * 64 * 2, 4 * 4 * 64 * 2);
  }
}

TEST(Experts, RoutingIsTheSameForTheSameSeed) {
  TransformerSpec spec = split({.data = 4, .expert = 4});
  spec.model = with_experts();
  spec.routing.imbalance = 1;
  const auto slots = route_experts(spec).slots;
  EXPECT_EQ(route_experts(spec).slots, slots);
  spec.routing.seed = 2;
  EXPECT_NE(route_experts(spec).slots, slots);
  std::uint64_t sum = 0;
  for (const std::uint64_t mine : slots[0]) sum += mine;
  EXPECT_EQ(sum, 4u * 64 * 2);
}

TEST(Experts, CapacityDropsWhatIsBeyondAndPaddingFillsUp) {
  TransformerSpec spec = split({.data = 4, .expert = 4});
  spec.model = with_experts();
  spec.routing.imbalance = 1;
  spec.routing.capacity_factor = 1;
  const std::vector<std::uint64_t> capped = route_experts(spec).slots[0];
  for (const std::uint64_t mine : capped) EXPECT_LE(mine, 64u);
  spec.routing.pad = true;
  const std::vector<std::uint64_t> padded = route_experts(spec).slots[0];
  for (const std::uint64_t mine : padded) EXPECT_EQ(mine, 64u);
}

// C(a, 2) / C(b, 2).
double pairs(double a, double b) { return a * (a - 1) / (b * (b - 1)); }

TEST(Experts, ATokenReachesTheNodesAndRanksOfItsExperts) {
  TransformerSpec spec = split({.data = 8, .expert = 8});
  spec.model = with_experts();  // 8 experts, 2 a token
  EXPECT_DOUBLE_EQ(reach_of_token(spec, 2).nodes, 4 * (1 - pairs(6, 8)));
  EXPECT_DOUBLE_EQ(reach_of_token(spec, 2).ranks, 2);  // one expert a rank
  spec.routing.nodes_max = 2;
  EXPECT_DOUBLE_EQ(reach_of_token(spec, 2).nodes, 2 * (1 - pairs(2, 4)));
  EXPECT_DOUBLE_EQ(reach_of_token(spec, 2).ranks, 2);
  spec.routing.nodes_max = 1;
  EXPECT_DOUBLE_EQ(reach_of_token(spec, 2).nodes, 1);
  spec.routing.nodes_max = 0;
  spec.model.moe.top_k = 1;
  EXPECT_DOUBLE_EQ(reach_of_token(spec, 4).nodes, 1);
}

TEST(Experts, AtMostFourNodesOfEightTakeATokenOfDeepSeek) {
  TransformerSpec spec = split({.data = 64, .expert = 64});
  spec.model = with_experts();
  spec.model.moe.experts = 256;
  spec.model.moe.top_k = 8;
  EXPECT_NEAR(reach_of_token(spec, 8).nodes, 8 * (1 - 0.339), 0.01);  // C(224, 8) / C(256, 8)
  spec.routing.nodes_max = 4;
  EXPECT_NEAR(reach_of_token(spec, 8).nodes, 4 * (1 - 0.0927), 0.01);  // C(96, 8) / C(128, 8)
}

TEST(Experts, ATokenGoesOnceToEachNodeAndOnceToEachRankThere) {
  TransformerSpec spec = split({.data = 4, .expert = 4});
  spec.model = with_experts();
  spec.routing.node_devices = 2;
  const WorkloadGraph graph = generate_transformer(spec);
  // 64 tokens a rank, of 64 elements of 2 bytes; 2 of 8 experts, of which a node has 4, a rank 2.
  const auto bytes = [](double copies) {
    return 12 * 2 * 64 * static_cast<std::uint64_t>(std::ceil(copies * 64));
  };
  const double nodes = 2 * (1 - pairs(4, 8));
  const double ranks = 4 * (1 - pairs(6, 8));
  EXPECT_EQ(total_of(graph, "expert.dispatch.nodes"), (Total{12, bytes(nodes)}));
  EXPECT_EQ(total_of(graph, "expert.combine.nodes"), (Total{12, bytes(nodes)}));
  EXPECT_EQ(total_of(graph, "expert.dispatch"), (Total{12, bytes(ranks)}));
  EXPECT_EQ(total_of(graph, "expert.combine"), (Total{12, bytes(ranks)}));
  EXPECT_EQ(flops_of(graph, "expert_in"), 6 * 2 * (64 * 2) * 64 * 2 * 96);  // as without
}

TEST(Experts, NothingGoesBetweenNodesWhereOneHasAllExperts) {
  TransformerSpec spec = split({.data = 4, .expert = 4});
  spec.model = with_experts();
  spec.routing.node_devices = 8;
  const WorkloadGraph graph = generate_transformer(spec);
  EXPECT_EQ(total_of(graph, "expert.dispatch.nodes").count, 0u);
  EXPECT_EQ(total_of(graph, "expert.dispatch").count, 12u);
}

TEST(Experts, TokensAreDispatchedInTheirOwnPrecision) {
  TransformerSpec spec = split({.data = 4, .expert = 4});
  spec.model = with_experts();
  const Total plain = total_of(generate_transformer(spec), "expert.dispatch");
  spec.routing.dispatch_precision = schema::DataType::FP8;
  const WorkloadGraph graph = generate_transformer(spec);
  EXPECT_EQ(total_of(graph, "expert.dispatch"), (Total{plain.count, plain.bytes / 2}));
  EXPECT_EQ(total_of(graph, "expert.combine"), plain);
}

TEST(Experts, FusedProductsLeaveNoActivationAndNoConversionOfIt) {
  TransformerSpec spec = split({.data = 4, .expert = 4});
  spec.model = with_experts();
  spec.gemm_precision = schema::DataType::FP8;
  spec.kernels = kernels_of(KernelPreset::kTransformerEngine);
  const WorkloadGraph apart = generate_transformer(spec);
  spec.kernels.fused_experts = true;
  const WorkloadGraph graph = generate_transformer(spec);
  EXPECT_EQ(total_of(apart, "expert.activation").count, 6u);
  EXPECT_EQ(total_of(graph, "expert.activation").count, 0u);
  EXPECT_EQ(total_of(graph, "expert.activation.backward").count, 0u);
  EXPECT_EQ(total_of(graph, "cast").count + 6, total_of(apart, "cast").count);
  EXPECT_EQ(total_of(graph, "cast.backward").count + 6, total_of(apart, "cast.backward").count);
  EXPECT_EQ(flops_of(graph, "expert_in"), flops_of(apart, "expert_in"));
}

TEST(Experts, NodesHaveToHoldEquallyManyOfTheirRanks) {
  TransformerSpec spec = split({.data = 8, .expert = 8});
  spec.model = with_experts();
  spec.routing.node_devices = 3;
  EXPECT_THROW(check(spec), SpecProblem);
  spec.routing.node_devices = 0;
  spec.routing.nodes_max = 2;
  EXPECT_THROW(check(spec), SpecProblem);
  spec.routing = {.imbalance = 0.5, .node_devices = 4};
  EXPECT_THROW(check(spec), SpecProblem);
  spec.routing = {.node_devices = 1, .nodes_max = 1};  // one expert, two a token
  EXPECT_THROW(check(spec), SpecProblem);
}

// ---- schedules, recomputation, overlap

TEST(Schedules, ZeroBubbleDoesTheSameWork) {
  TransformerSpec spec = split({.tensor = 2, .pipeline = 2, .data = 2});
  const WorkloadGraph plain = generate_transformer(spec);
  spec.schedule.kind = ScheduleKind::kZeroH1;
  const WorkloadGraph split_backward = generate_transformer(spec);
  for (const char* name : {"ffn_in.dw", "qkv.dx", "head.dw", "attention.backward"}) {
    EXPECT_EQ(flops_of(split_backward, name), flops_of(plain, name)) << name;
  }
  EXPECT_TRUE(find_unmatched(split_backward).empty());
}

TEST(Schedules, FirstAndLastChunkMayHaveNoLayers) {
  TransformerSpec spec = split({.pipeline = 4, .data = 2});
  spec.schedule.chunk_layers = {0, 3, 1, 0};
  const WorkloadGraph graph = generate_transformer(spec);
  EXPECT_EQ(graph.program(0).parameter_count(), kTable);
  EXPECT_EQ(graph.program(1).parameter_count(), 3 * kLayer);
  EXPECT_EQ(graph.program(3).parameter_count(), kTable + 64);
  EXPECT_EQ(total_of(graph, "gradient.reduce_scatter", 0).bytes, 4 * kTable);
}

TEST(Recomputation, FullRunsTheLayerAgainWithItsCollectives) {
  TransformerSpec spec = split({.tensor = 2});
  const WorkloadGraph none = generate_transformer(spec);
  spec.recompute.kind = Recompute::kFull;
  const WorkloadGraph full = generate_transformer(spec);
  EXPECT_EQ(flops_of(full, "qkv"), 2 * flops_of(none, "qkv"));
  EXPECT_EQ(flops_of(full, "attention"), 2 * flops_of(none, "attention"));
  // Two gathers and two reduce-scatters more in each of 8 layer passes.
  EXPECT_EQ(total_of(full, "tensor.all_gather").count,
            total_of(none, "tensor.all_gather").count + 16);
  spec.recompute.layers = 1;
  EXPECT_EQ(flops_of(generate_transformer(spec), "qkv"), flops_of(none, "qkv") * 5 / 4);
}

TEST(Recomputation, SelectiveRunsTheAttentionCoreAgain) {
  TransformerSpec spec = split({.tensor = 2});
  const WorkloadGraph none = generate_transformer(spec);
  spec.recompute.kind = Recompute::kSelective;
  const WorkloadGraph selective = generate_transformer(spec);
  EXPECT_EQ(flops_of(selective, "attention"), 2 * flops_of(none, "attention"));
  EXPECT_EQ(flops_of(selective, "qkv"), flops_of(none, "qkv"));
}

TEST(Overlap, PipelinedProductsSendTheSameInParts) {
  TransformerSpec spec = split({.tensor = 2});
  const WorkloadGraph whole = generate_transformer(spec);
  spec.overlap.tensor = TensorOverlap::kPipelined;
  const WorkloadGraph parts = generate_transformer(spec);
  EXPECT_EQ(total_of(parts, "tensor.reduce_scatter").bytes,
            total_of(whole, "tensor.reduce_scatter").bytes);
  EXPECT_EQ(total_of(parts, "tensor.reduce_scatter").count,
            4 * total_of(whole, "tensor.reduce_scatter").count -
                3 * 2);  // the embedding's output goes at once
  EXPECT_EQ(flops_of(parts, "ffn_in"), flops_of(whole, "ffn_in"));
}

TEST(Storage, CheckpointsHoldEachParameterOnce) {
  TransformerSpec spec = split({.data = 2});
  spec.steps = 3;
  spec.storage.checkpoint_every = 2;
  spec.storage.bytes_per_sequence = 128;
  const WorkloadGraph graph = generate_transformer(spec);
  std::uint64_t written = 0, read = 0;
  for (std::uint32_t i = 0; i < graph.program(0).node_count(); ++i) {
    const auto node = graph.program(0).node(i);
    if (node.getKind() != schema::NodeKind::MEMORY) continue;
    EXPECT_EQ(node.getPlace(), schema::MemoryPlace::HOST);
    written += node.getBytesWritten();
    read += node.getBytesRead();
  }
  EXPECT_EQ(written, (4 * kLayer + 64 + 2 * kTable) / 2 * (12 + 2));
  EXPECT_EQ(read, 3u * 2 * 2 * 128);
}

// ---- other families

TEST(EncoderDecoder, WhatTheEncoderSaidGoesWithTheDecodersActivations) {
  TransformerSpec spec = split({.pipeline = 4, .data = 1});
  spec.model.family = ModelFamily::kEncoderDecoder;
  spec.model.encoder_layers = 4;
  spec.encoder_sequence_length = 16;
  const WorkloadGraph graph = generate_transformer(spec);
  const std::uint64_t encoder = 2 * 32 * 64, decoder = 2 * 64 * 64;
  const auto first_send = [&](std::uint32_t stage) {
    const Total sends = total_of(graph, "pipeline.send", stage);
    return sends.bytes / sends.count;
  };
  EXPECT_EQ(first_send(0), encoder);
  EXPECT_EQ(first_send(1), encoder);            // to the decoder's first stage, and back
  EXPECT_EQ(first_send(3), encoder + decoder);  // back to its first
  EXPECT_TRUE(find_unmatched(graph).empty());
}

TEST(Vision, PatchesAreProjectedAndClassesPredicted) {
  TransformerSpec spec;
  spec.model = {
      .name = "tiny vit", .layers = 2, .hidden = 64, .ffn = 256, .heads = 8, .gated_ffn = false};
  spec.model.family = ModelFamily::kVision;
  spec.model.image = 32;
  spec.model.patch = 8;
  spec.model.classes = 10;
  spec.micro_batch_sequences = 2;
  spec.global_batch_sequences = 2;
  const WorkloadGraph graph = generate_transformer(spec);
  EXPECT_EQ(flops_of(graph, "patches"), 2ull * 2 * 17 * (3 * 8 * 8) * 64);
  EXPECT_EQ(flops_of(graph, "head"), 2ull * 2 * 64 * 10);
  EXPECT_EQ(flops_of(graph, "attention"), 2 * 4ull * 2 * 17 * 17 * 64);  // not causal
}

// ---- memory

TEST(Memory, StatesAreSharedAsShardingSays) {
  const std::uint64_t all = 4 * kLayer + 64 + 2 * kTable;
  const auto memory = [](Sharding sharding) {
    return *generate_transformer(split({.data = 4, .sharding = sharding})).program(0).memory();
  };
  const ProgramMemory none = memory(Sharding::kNone);
  EXPECT_EQ(none.weights, 2 * all);
  EXPECT_EQ(none.gradients, 4 * all);
  EXPECT_EQ(none.optimizer, 12 * all);
  EXPECT_EQ(memory(Sharding::kZero1).optimizer, 12 * all / 4);
  EXPECT_EQ(memory(Sharding::kZero1).gradients, 4 * all);
  EXPECT_EQ(memory(Sharding::kZero2).gradients, 4 * all / 4);
  EXPECT_EQ(memory(Sharding::kZero2).weights, 2 * all);
  EXPECT_EQ(memory(Sharding::kZero3).weights, 2 * all / 4);
}

// 1F1B: stage r of p holds p - r micro-batches at most.
TEST(Memory, ActivationsFollowTheSchedule) {
  TransformerSpec spec = split({.pipeline = 4, .data = 1});
  spec.global_batch_sequences = 16;  // 8 micro-batches
  const auto held = [&spec](std::uint32_t stage) {
    const WorkloadGraph graph = generate_transformer(spec);
    return graph.program(stage).memory()->largest().bytes;
  };
  const std::uint64_t saved = transformer_costs(spec, route_experts(spec), 0).kinds[0].saved.all();
  const std::uint64_t backward = 2 * 2 * 64 * 64;  // its workspace: two whole tensors
  EXPECT_EQ(held(0), 4 * saved + backward);
  EXPECT_EQ(held(1), 3 * saved + backward);
  spec.schedule.kind = ScheduleKind::kGpipe;
  EXPECT_EQ(held(1), 8 * saved + backward);
  spec.schedule.kind = ScheduleKind::kZeroH1;
  EXPECT_EQ(held(1), 4 * saved + backward);
}

TEST(Memory, FullRecomputationKeepsInputsAlone) {
  TransformerSpec spec = split({.tensor = 2});
  spec.recompute.kind = Recompute::kFull;
  const LayerCosts layer = transformer_costs(spec, route_experts(spec), 0).kinds[0];
  const std::uint64_t logits = transformer_costs(spec, route_experts(spec), 0).logits_bytes;
  EXPECT_EQ(generate_transformer(spec).program(0).memory()->largest().bytes,
            4 * layer.saved.input + logits + 2 * layer.whole_bytes + layer.saved.all() -
                layer.saved.input);
}

// ---- refusals

class RefusedSplit : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedSplit, NamesTheKeyAndWhatWasExpected) {
  expect_refused(split({.tensor = 2, .data = 4}), GetParam());
}

const Refusal kRefusals[] = {
    {"ExpertsWithoutAny", [](TransformerSpec& s) { s.parallel.expert = 2; },
     "parallel.expert: 2 without model.moe; expected 1"},
    {"ExpertsThatDoNotDivide",
     [](TransformerSpec& s) { s.model = with_experts(), s.parallel.expert = 3; },
     "parallel.expert: 3 does not divide model.moe.experts: 8; expected a divisor"},
    {"ExpertsOutsideData",
     [](TransformerSpec& s) { s.model = with_experts(), s.parallel.expert = 8; },
     "parallel.expert: 8 ranks are no product of parallel.tensor / parallel.expert_tensor, 1, and "
     "a divisor of parallel.data, 4"},
    {"ExpertsWithoutSequenceParallelism",
     [](TransformerSpec& s) { s.model = with_experts(), s.parallel.sequence_parallel = false; },
     "parallel.sequence_parallel: false with experts and parallel.tensor 2; expected true: ranks "
     "of a tensor group send different tokens"},
    {"Context", [](TransformerSpec& s) { s.parallel.context = 5; },
     "sequence_length: 32 is no multiple of 10, into which parallel.context and sequence "
     "parallelism split it"},
    {"UlyssesHeads",
     [](TransformerSpec& s) {
       s.parallel.context = 2;
       s.parallel.context_method = ContextMethod::kUlysses;
     },
     "parallel.context: 2 does not divide the 1 kv_heads of a tensor-parallel rank; expected a "
     "divisor, or another parallel.context_method"},
    {"ShardGroup", [](TransformerSpec& s) { s.parallel.shard_group = 3; },
     "parallel.shard_group: 3 does not divide parallel.data: 4; expected a divisor"},
    {"ChunkLayers",
     [](TransformerSpec& s) {
       s.schedule.chunk_layers = {1, 2};
     },
     "schedule.chunk_layers: has 2 entries; expected 1, one a pipeline chunk"},
    {"CountedEndsBesideChunkLayers",
     [](TransformerSpec& s) {
       s.schedule.count_ends = true;
       s.schedule.chunk_layers = {4};
     },
     "schedule.count_ends: stands beside first_stage_layers, last_stage_layers or chunk_layers; "
     "expected one of them"},
    {"NoLayerCollective", [](TransformerSpec& s) { s.parallel.layer_collectives = 0; },
     "parallel.layer_collectives: out of range: 0; expected 1 to 1024"},
    {"ChunkLayersSum", [](TransformerSpec& s) { s.schedule.chunk_layers = {5}; },
     "schedule.chunk_layers: adds up to 5 layers; expected 4"},
    {"ZeroBubbleInterleaved",
     [](TransformerSpec& s) {
       s.parallel.pipeline = s.schedule.virtual_stages = 2;
       s.schedule.kind = ScheduleKind::kZeroH1;
     },
     "schedule.virtual_stages: 2 with schedule.kind zb_h1; expected 1"},
    {"Pad", [](TransformerSpec& s) { s.routing.pad = true; },
     "routing.pad: true without routing.capacity_factor; expected false, or a factor"},
    {"Imbalance", [](TransformerSpec& s) { s.routing.imbalance = 1.5; },
     "routing.imbalance: out of range: 1.5; expected 0 to 1"},
    {"VisionPatch",
     [](TransformerSpec& s) {
       s.model.family = ModelFamily::kVision;
       s.model.image = 30, s.model.patch = 8, s.model.classes = 10, s.sequence_length = 0;
     },
     "model.patch: 8 does not divide image: 30; expected a divisor"},
};

INSTANTIATE_TEST_SUITE_P(Transformer, RefusedSplit, testing::ValuesIn(kRefusals),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace exawarp::tests
