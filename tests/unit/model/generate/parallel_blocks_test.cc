// Layers whose attention and feed-forward blocks stand side by side.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/generate/inference.h"
#include "model/generate/transformer_costs.h"
#include "tests/unit/model/generate/split_transformer.h"

namespace exawarp::tests {
namespace {

using namespace model;

// One layer, one micro-batch: 64 tokens of 2 bytes a number; H = 64.
TransformerSpec one_layer(BlockOrder blocks, std::int64_t tensor) {
  TransformerSpec spec = split({.tensor = tensor});
  spec.model.layers = 1;
  spec.model.blocks = blocks;
  spec.global_batch_sequences = spec.micro_batch_sequences;
  return spec;
}

constexpr std::uint64_t kWhole = 64 * 64 * 2;

std::vector<std::string> names_in_layer(const TransformerSpec& spec) {
  const WorkloadGraph graph = generate_transformer(spec);
  std::vector<std::string> names;
  const Program& program = graph.program(0);
  for (std::uint32_t i = 0; i < program.node_count(); ++i) {
    if (program.node(i).getLayer() == 0) names.emplace_back(graph.node_name(program.node(i)));
  }
  return names;
}

TEST(ParallelBlocks, OneNormAndOneSumOfBothBlocks) {
  const std::vector<std::string> expected{
      "norm",          "qkv",           "ffn_in",        "rotary",
      "attention",     "activation",    "projection",    "ffn_out",
      "blocks.sum",    "residual",      "projection.dx", "ffn_out.dx",
      "projection.dw", "ffn_out.dw",    "attention.backward",
      "rotary.backward", "activation.backward", "qkv.dx", "ffn_in.dx", "blocks.sum.backward",
      "qkv.dw", "ffn_in.dw", "norm.backward", "residual.backward"};
  EXPECT_EQ(names_in_layer(one_layer(BlockOrder::kParallel, 1)), expected);
}

// Three gathers and two reductions a layer in place of six and four.
TEST(ParallelBlocks, OneNormHalvesTheTensorGroupsCollectives) {
  const auto gathered = [](BlockOrder blocks) {
    return total_of(generate_transformer(one_layer(blocks, 2)), "tensor.all_gather");
  };
  const auto scattered = [](BlockOrder blocks) {
    return total_of(generate_transformer(one_layer(blocks, 2)), "tensor.reduce_scatter");
  };
  // Beside the layer's: the head's input twice, and the gradient of what the embedding wrote; what
  // the embedding wrote, and the gradient of the head's input.
  const std::size_t edges_gathered = 3;
  const Total edges_scattered{2, 2 * kWhole};
  EXPECT_EQ(gathered(BlockOrder::kSequential).count, 6 + edges_gathered);
  EXPECT_EQ(gathered(BlockOrder::kParallel).count, 3 + edges_gathered);
  EXPECT_EQ(gathered(BlockOrder::kParallelNorms).count, 5 + edges_gathered);
  EXPECT_EQ(scattered(BlockOrder::kSequential).count, 4 + edges_scattered.count);
  EXPECT_EQ(scattered(BlockOrder::kParallel),
            (Total{2 + edges_scattered.count, 2 * kWhole + edges_scattered.bytes}));
  EXPECT_EQ(scattered(BlockOrder::kParallelNorms).count, 3 + edges_scattered.count);
}

TEST(ParallelBlocks, DoTheSameProducts) {
  const WorkloadGraph in_turn = generate_transformer(one_layer(BlockOrder::kSequential, 2));
  for (const BlockOrder blocks : {BlockOrder::kParallel, BlockOrder::kParallelNorms}) {
    const WorkloadGraph beside = generate_transformer(one_layer(blocks, 2));
    for (const char* name : {"qkv", "qkv.dx", "qkv.dw", "projection", "projection.dx",
                             "projection.dw", "ffn_in", "ffn_in.dx", "ffn_in.dw", "ffn_out",
                             "ffn_out.dx", "ffn_out.dw", "attention", "attention.backward"}) {
      EXPECT_EQ(flops_of(beside, name), flops_of(in_turn, name)) << name;
    }
    EXPECT_EQ(beside.training().getModelFlopsPerStep(),
              in_turn.training().getModelFlopsPerStep());
  }
}

// With pipelined overlap both of a block's products come in parts, and so does their sum.
TEST(ParallelBlocks, ComeInParts) {
  TransformerSpec spec = one_layer(BlockOrder::kParallel, 2);
  spec.overlap.tensor = TensorOverlap::kPipelined;
  spec.overlap.tensor_parts = 4;
  const WorkloadGraph graph = generate_transformer(spec);
  for (const char* name : {"qkv", "ffn_in", "ffn_out", "projection", "blocks.sum"}) {
    EXPECT_EQ(total_of(graph, name).count, 4u) << name;
  }
  EXPECT_EQ(flops_of(graph, "blocks.sum"), 64u * 64u);
}

// Weights' gradients that wait (zb_h1) are as many.
TEST(ParallelBlocks, WeightsCanWait) {
  TransformerSpec spec = split({.pipeline = 2});
  for (const BlockOrder blocks : {BlockOrder::kParallel, BlockOrder::kParallelNorms}) {
    spec.model.blocks = blocks;
    spec.schedule.kind = ScheduleKind::k1F1B;
    const WorkloadGraph at_once = generate_transformer(spec);
    spec.schedule.kind = ScheduleKind::kZeroH1;
    const WorkloadGraph later = generate_transformer(spec);
    for (const char* name : {"qkv.dw", "projection.dw", "ffn_in.dw", "ffn_out.dw"}) {
      EXPECT_EQ(flops_of(later, name), flops_of(at_once, name)) << name;
    }
  }
}

// fp8: what both blocks read, and the gradient of what they wrote, are converted once.
TEST(ParallelBlocks, ConvertWhatTheyShareOnce) {
  TransformerSpec spec = one_layer(BlockOrder::kParallel, 1);
  spec.gemm_precision = schema::DataType::FP8;
  spec.kernels = kernels_of(KernelPreset::kTransformerEngine);
  spec.kernels.fused_casts = false;
  const LayerCosts shared = transformer_costs(spec, route_experts(spec), 0).kinds.front();
  EXPECT_TRUE(shared.attention.front().in.front().cast.has_value());
  EXPECT_FALSE(shared.ffn->in.cast.has_value());
  EXPECT_FALSE(shared.ffn->out.gradient_cast.has_value());
  spec.model.blocks = BlockOrder::kParallelNorms;
  const LayerCosts apart = transformer_costs(spec, route_experts(spec), 0).kinds.front();
  EXPECT_TRUE(apart.ffn->in.cast.has_value());
  EXPECT_FALSE(apart.ffn->out.gradient_cast.has_value());
}

TEST(ParallelBlocks, KeepLess) {
  const auto saved = [](BlockOrder blocks) {
    const TransformerSpec spec = one_layer(blocks, 1);
    return transformer_costs(spec, route_experts(spec), 0).kinds.front().saved.rest;
  };
  EXPECT_EQ(saved(BlockOrder::kSequential) - saved(BlockOrder::kParallel), 2 * kWhole);
  EXPECT_EQ(saved(BlockOrder::kSequential) - saved(BlockOrder::kParallelNorms), kWhole);
}

// Of GPT-J: 28 layers of 12 H^2 and one norm, two tables and a norm; without biases.
TEST(ParallelBlocks, CountOneNorm) {
  ModelSpec model{.name = "gpt_j",
                  .layers = 28,
                  .hidden = 4096,
                  .ffn = 16384,
                  .heads = 16,
                  .vocabulary = 50400,
                  .gated_ffn = false,
                  .blocks = BlockOrder::kParallel};
  const std::uint64_t h = 4096;
  EXPECT_EQ(parameter_count(model), 28 * (12 * h * h + h) + 2 * 50400 * h + h);
}

TEST(ParallelBlocks, AreForDenseDecodersAndVision) {
  TransformerSpec spec = one_layer(BlockOrder::kParallel, 1);
  check(spec);
  spec.model.moe = {.experts = 8, .top_k = 2, .ffn = 96};
  EXPECT_THROW(check(spec), SpecProblem);
}

TEST(ParallelBlocks, InferenceReducesOnceALayer) {
  InferenceSpec spec{.name = "answers",
                     .model = tiny_llama().model,
                     .parallel = {.tensor = 2},
                     .batch = 2,
                     .input_tokens = 10,
                     .output_tokens = 2};
  const std::size_t in_turn = total_of(generate_inference(spec), "all_reduce").count;
  spec.model.blocks = BlockOrder::kParallel;
  const WorkloadGraph beside = generate_inference(spec);
  EXPECT_EQ(2 * total_of(beside, "all_reduce").count, in_turn);
  EXPECT_EQ(total_of(beside, "norm").count, 2u * (4u + 1u));
}

}  // namespace
}  // namespace exawarp::tests
