// What frameworks run beside the arithmetic (KernelSpec), by hand: T = 64 tokens, H = 64, F = 160,
// q = 64, k = 16, e = 2 bytes, and Z = T S heads = 16,384 scores.
#include <gtest/gtest.h>

#include "model/generate/transformer.h"
#include "model/generate/transformer_costs.h"
#include "tests/support/workload_builders.h"

namespace exawarp::tests {
namespace {

using namespace model;
using schema::Phase;

struct KernelRow {
  const char* name;
  std::uint64_t flops, read, written;
};

void expect_kernels(const std::vector<NamedNode>& nodes, const std::vector<KernelRow>& rows) {
  ASSERT_EQ(nodes.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(std::to_string(i) + " " + rows[i].name);
    EXPECT_EQ(nodes[i].name, rows[i].name);
    EXPECT_EQ(nodes[i].node.getFlops(), rows[i].flops);
    EXPECT_EQ(nodes[i].node.getBytesRead(), rows[i].read);
    EXPECT_EQ(nodes[i].node.getBytesWritten(), rows[i].written);
  }
}

// Nodes of a phase of layer 1, by micro-batch.
std::vector<NamedNode> of_layer(const WorkloadGraph& graph, Phase phase,
                                std::uint16_t micro_batch) {
  return tests::nodes_of(graph, 0, phase, 1, micro_batch);
}

// Those whose name starts so, of any layer.
std::vector<NamedNode> nodes_named(const WorkloadGraph& graph, std::uint32_t program,
                                   const std::string& start) {
  std::vector<NamedNode> result;
  for (std::uint32_t i = 0; i < graph.program(program).node_count(); ++i) {
    const schema::Node::Reader node = graph.program(program).node(i);
    const std::string name = graph.node_name(node);
    if (name.rfind(start, 0) == 0) result.push_back({name, node});
  }
  return result;
}

// H (q + 2 k) + q H + 3 H F + 2 H.
constexpr std::uint64_t kLayerParameters = 64 * 96 + 64 * 64 + 3 * 64 * 160 + 2 * 64;

// Reads the sum in fp32, and writes it in place of the product's result in bf16.
TEST(Kernels, FusedAccumulationAddsWhatItMovesBeyondTheProduct) {
  TransformerSpec spec = tests::tiny_llama();
  spec.kernels = {};
  const WorkloadGraph graph = generate_transformer(spec);
  const std::uint64_t p = kLayerParameters;
  expect_kernels(of_layer(graph, Phase::ACCUMULATE, 0), {{"accumulate", 0, 0, 2 * p}});
  expect_kernels(of_layer(graph, Phase::ACCUMULATE, 3), {{"accumulate", p, 4 * p, 2 * p}});
}

TEST(Kernels, SeparateAccumulationReadsWhatProductsWrote) {
  TransformerSpec spec = tests::tiny_llama();
  spec.kernels = kernels_of(KernelPreset::kMegatron2021);
  const WorkloadGraph graph = generate_transformer(spec);
  const std::uint64_t p = kLayerParameters;
  expect_kernels(of_layer(graph, Phase::ACCUMULATE, 0), {{"accumulate", 0, 2 * p, 4 * p}});
  expect_kernels(of_layer(graph, Phase::ACCUMULATE, 1), {{"accumulate", p, 6 * p, 4 * p}});
}

TEST(Kernels, OneMicroBatchInThePrecisionOfGradientsIsNotAccumulated) {
  TransformerSpec spec = tests::tiny_llama();
  spec.kernels = {};
  spec.gradient_precision = schema::DataType::BF16;
  EXPECT_TRUE(of_layer(generate_transformer(spec), Phase::ACCUMULATE, 0).empty());
  const std::uint64_t p = kLayerParameters;
  expect_kernels(of_layer(generate_transformer(spec), Phase::ACCUMULATE, 1),
                 {{"accumulate", p, 2 * p, 0}});
}

// Converted before each reduction; the share of a half is added from the second one on.
TEST(Kernels, ShardedGradientsAreConvertedAndTheirSharesAdded) {
  TransformerSpec spec = tests::tiny_llama();
  spec.kernels = {};
  spec.parallel.data = 2;
  spec.parallel.sharding = Sharding::kZero3;
  const WorkloadGraph graph = generate_transformer(spec);
  const std::uint64_t p = kLayerParameters;
  expect_kernels(of_layer(graph, Phase::ACCUMULATE, 0), {{"accumulate", 0, 2 * p, 4 * p}});
  expect_kernels(of_layer(graph, Phase::ACCUMULATE, 1), {{"accumulate", p, 6 * p, 6 * p}});
}

TransformerSpec plain_attention() {
  TransformerSpec spec = tests::tiny_llama();
  spec.flash_attention = false;
  spec.dropout = true;
  return spec;
}

std::vector<NamedNode> core_of(const WorkloadGraph& graph, Phase phase) {
  std::vector<NamedNode> result;
  for (NamedNode& node : of_layer(graph, phase, 0)) {
    if (node.name.rfind("attention", 0) == 0) result.push_back(std::move(node));
  }
  return result;
}

// Causal as it is: no kernel leaves a score out.
TEST(Kernels, PlainAttentionIsItsKernels) {
  const std::uint64_t z = 64 * 32 * 8, product = 2 * 64 * 32 * 64;
  const std::uint64_t q = 2 * 64 * 64, k = 2 * 64 * 16;  // bytes
  const WorkloadGraph graph = generate_transformer(plain_attention());
  expect_kernels(core_of(graph, Phase::FORWARD), {{"attention.scores", product, q + k, 2 * z},
                                                  {"attention.softmax", 5 * z, 2 * z, 2 * z},
                                                  {"attention.dropout", z, 2 * z, 3 * z},
                                                  {"attention.values", product, 2 * z + k, q}});
  expect_kernels(core_of(graph, Phase::BACKWARD),
                 {{"attention.values.dv", product, 2 * z + q, k},
                  {"attention.values.dp", product, q + k, 2 * z},
                  {"attention.dropout.backward", z, 3 * z, 2 * z},
                  {"attention.softmax.backward", 4 * z, 4 * z, 2 * z},
                  {"attention.scores.dq", product, 2 * z + k, q},
                  {"attention.scores.dk", product, 2 * z + q, k}});
}

// Of a rank that has half of the sequence and half of the heads, in parts of a ring.
TEST(Kernels, ProductsOfPlainAttentionHaveShapes) {
  TransformerSpec spec = plain_attention();
  spec.parallel.tensor = 2;
  for (const std::int64_t context : {1, 2}) {
    spec.parallel.context = context;
    const WorkloadGraph graph = generate_transformer(spec);
    std::size_t products = 0;
    for (const Phase phase : {Phase::FORWARD, Phase::BACKWARD}) {
      for (const NamedNode& node : core_of(graph, phase)) {
        if (node.node.getOperation() != schema::Operation::GEMM) continue;
        const auto shape = std::get<GemmShape>(graph.shape_of(node.node));
        EXPECT_EQ(node.node.getFlops(), 2 * shape.m * shape.n * shape.k * shape.batch);
        ++products;
      }
    }
    EXPECT_EQ(products, 6u * static_cast<std::size_t>(context));
  }
}

TEST(Kernels, ASoftmaxThatIsNotFusedScalesAndMasksInPassesOfTheirOwn) {
  TransformerSpec spec = plain_attention();
  spec.kernels.fused_softmax = false;
  const WorkloadGraph graph = generate_transformer(spec);
  const std::vector<NamedNode> forward = core_of(graph, Phase::FORWARD);
  ASSERT_EQ(forward.size(), 6u);
  EXPECT_EQ(forward[1].name, "attention.scale");
  EXPECT_EQ(forward[2].name, "attention.mask");
  EXPECT_EQ(forward[2].node.getBytesRead(), 2u * 64 * 32 * 8);
  EXPECT_EQ(core_of(graph, Phase::BACKWARD).size(), 8u);
}

TEST(Kernels, ModelFlopsDoNotDependOnTheAttentionKernel) {
  TransformerSpec spec = tests::tiny_llama();
  const double flash = model_flops_of_step(spec);
  spec.flash_attention = false;
  EXPECT_DOUBLE_EQ(model_flops_of_step(spec), flash);
}

TEST(Kernels, DropoutWritesAndReadsItsMasks) {
  TransformerSpec spec = tests::tiny_llama();
  spec.dropout = true;
  const std::uint64_t n = 64 * 64;
  WorkloadGraph graph = generate_transformer(spec);
  const auto nodes = of_layer(graph, Phase::FORWARD, 0);
  EXPECT_EQ(nodes.back().name, "residual");
  EXPECT_EQ(nodes.back().node.getBytesWritten(), 3 * n);
  EXPECT_EQ(of_layer(graph, Phase::BACKWARD, 0).front().name, "dropout.backward");
  EXPECT_EQ(of_layer(graph, Phase::BACKWARD, 0).front().node.getBytesRead(), 3 * n);
  spec.kernels.fused_residual = false;
  graph = generate_transformer(spec);
  const auto apart = of_layer(graph, Phase::FORWARD, 0);
  EXPECT_EQ(apart[apart.size() - 2].name, "dropout");
  EXPECT_EQ(apart.back().node.getBytesWritten(), 2 * n);
}

TEST(Kernels, AnActivationThatIsNotFusedPassesThroughMemoryOnceMore) {
  TransformerSpec spec = tests::tiny_llama();
  spec.kernels.fused_activation = false;
  const WorkloadGraph graph = generate_transformer(spec);
  const std::uint64_t f = 2 * 64 * 160;
  expect_kernels({nodes_named(graph, 0, "activation.parts").front()},
                 {{"activation.parts", f / 2, f, f}});
  expect_kernels({nodes_named(graph, 0, "activation.parts.backward").front()},
                 {{"activation.parts.backward", f / 2, 2 * f, f}});
}

// 64 tokens, 512 words: bytes of fp32 and of bf16.
TEST(Kernels, ALossThatIsNotFusedPassesOverCopiesOfFp32) {
  TransformerSpec spec = tests::tiny_llama();
  spec.kernels.fused_loss = false;
  const WorkloadGraph graph = generate_transformer(spec);
  const std::uint64_t logits = 64 * 512;
  expect_kernels({nodes_named(graph, 0, "loss.maximum").front()},
                 {{"loss.maximum", logits, 6 * logits, 4 * logits}});
  expect_kernels({nodes_named(graph, 0, "loss.sum").front()},
                 {{"loss.sum", 3 * logits, 16 * logits, 12 * logits}});
  expect_kernels({nodes_named(graph, 0, "loss.gradient").front()},
                 {{"loss.gradient", 2 * logits, 8 * logits, 6 * logits}});
}

TransformerSpec fp8_llama() {
  TransformerSpec spec = tests::tiny_llama();
  spec.gemm_precision = schema::DataType::FP8;
  spec.kernels.casts = true;
  spec.kernels.transposes = true;
  spec.kernels.fused_casts = false;
  return spec;
}

std::vector<NamedNode> casts_of(const WorkloadGraph& graph, Phase phase, std::uint16_t batch) {
  std::vector<NamedNode> result;
  for (NamedNode& node : of_layer(graph, phase, batch)) {
    if (node.name.find("cast") != std::string::npos) result.push_back(std::move(node));
  }
  return result;
}

// Twice a byte where bf16 was read: as it is, and transposed.
TEST(Kernels, Fp8ProductsHaveTheirOperandsConverted) {
  const WorkloadGraph graph = generate_transformer(fp8_llama());
  const std::uint64_t n = 64 * 64, f = 64 * 160, p = kLayerParameters;
  expect_kernels(casts_of(graph, Phase::FORWARD, 0), {{"weights.cast", p, 2 * p, 2 * p},
                                                      {"cast", n, 2 * n, 2 * n},
                                                      {"cast", n, 2 * n, 2 * n},
                                                      {"cast", n, 2 * n, 2 * n},
                                                      {"cast", f, 2 * f, 2 * f}});
  EXPECT_EQ(casts_of(graph, Phase::FORWARD, 1).size(), 4u);  // weights once a step
  expect_kernels(casts_of(graph, Phase::BACKWARD, 1),
                 {{"cast.backward", n, 2 * n, 2 * n},
                  {"cast.backward", 2 * f, 4 * f, 4 * f},
                  {"cast.backward", n, 2 * n, 2 * n},
                  {"cast.backward", 64 * 96, 2 * 64 * 96, 2 * 64 * 96}});
}

TEST(Kernels, NormsThatWriteFp8LeaveTheTransposing) {
  TransformerSpec spec = fp8_llama();
  spec.kernels.fused_casts = true;
  WorkloadGraph graph = generate_transformer(spec);
  EXPECT_EQ(casts_of(graph, Phase::FORWARD, 1).size(), 2u);
  const std::uint64_t n = 64 * 64;
  expect_kernels({nodes_named(graph, 0, "transpose").front()}, {{"transpose", 0, n, n}});
  EXPECT_EQ(nodes_named(graph, 0, "transpose").size(), 2u * 4 * 4);  // layers and micro-batches
  spec.kernels.transposes = false;
  graph = generate_transformer(spec);
  EXPECT_TRUE(nodes_named(graph, 0, "transpose").empty());
}

// Each tensor is read for its maximum first, so no norm can write fp8.
TEST(Kernels, CurrentScalingReadsEachTensorOnceMore) {
  TransformerSpec spec = fp8_llama();
  spec.kernels.fused_casts = true;
  spec.kernels.current_scaling = true;
  const WorkloadGraph graph = generate_transformer(spec);
  const std::uint64_t n = 64 * 64, f = 64 * 160;
  expect_kernels(casts_of(graph, Phase::FORWARD, 1), {{"cast", n, 4 * n, 2 * n},
                                                      {"cast", n, 4 * n, 2 * n},
                                                      {"cast", n, 4 * n, 2 * n},
                                                      {"cast", f, 4 * f, 2 * f}});
  EXPECT_TRUE(nodes_named(graph, 0, "transpose").empty());
}

TEST(Kernels, WithoutTransposesEachOperandIsWrittenOnce) {
  TransformerSpec spec = fp8_llama();
  spec.kernels.transposes = false;
  const WorkloadGraph graph = generate_transformer(spec);
  EXPECT_EQ(casts_of(graph, Phase::FORWARD, 1).front().node.getBytesWritten(), 64u * 64);
}

// Four bits an element and eight for every 16 of them; each tensor is read for its maximum first,
// and no norm writes it.
TEST(Kernels, Nvfp4ProductsReadNineSixteenthsOfAByteAnElement) {
  TransformerSpec spec = fp8_llama();
  spec.gemm_precision = schema::DataType::NVFP4;
  spec.kernels.fused_casts = true;
  const WorkloadGraph graph = generate_transformer(spec);
  const std::uint64_t n = 64 * 64, f = 64 * 160, w = 64 * 160;
  expect_kernels({nodes_named(graph, 0, "ffn_out").front()},
                 {{"ffn_out", 2 * 64 * 160 * 64, (f + w) * 9 / 16, 2 * n}});
  EXPECT_EQ(nodes_named(graph, 0, "ffn_out").front().node.getDataType(), schema::DataType::NVFP4);
  EXPECT_EQ(nodes_named(graph, 0, "head").front().node.getDataType(), schema::DataType::BF16);
  expect_kernels(casts_of(graph, Phase::FORWARD, 1), {{"cast", n, 4 * n, n * 9 / 8},
                                                      {"cast", n, 4 * n, n * 9 / 8},
                                                      {"cast", n, 4 * n, n * 9 / 8},
                                                      {"cast", f, 4 * f, f * 9 / 8}});
}

TEST(Kernels, Nvfp4IsForProductsAlone) {
  TransformerSpec spec = tests::tiny_llama();
  spec.precision = schema::DataType::NVFP4;
  EXPECT_THROW(check(spec), SpecProblem);
  spec = tests::tiny_llama();
  spec.gradient_precision = schema::DataType::NVFP4;
  EXPECT_THROW(check(spec), SpecProblem);
  spec = tests::tiny_llama();
  spec.parameter_precision = schema::DataType::NVFP4;
  EXPECT_THROW(check(spec), SpecProblem);
}

TEST(Kernels, DenseExpertsArePricedAsOneProductOfTheirRows) {
  TransformerSpec spec = tests::tiny_llama();
  spec.model.moe = {.experts = 8, .top_k = 2, .ffn = 96};
  const auto shape = [&spec] {
    return transformer_costs(spec, route_experts(spec), 0).layer(0).moe->experts.out.forward.shape;
  };
  EXPECT_TRUE(std::holds_alternative<ExpertShape>(shape()));
  spec.kernels.dense_experts = true;
  EXPECT_EQ(std::get<GemmShape>(shape()), (GemmShape{.m = 128, .n = 64, .k = 96}));
}

// 128 slots of eight experts on one device: 16 rows each.
TEST(Kernels, SeparateExpertsArePricedByTheRowsOfOne) {
  TransformerSpec spec = tests::tiny_llama();
  spec.model.moe = {.experts = 8, .top_k = 2, .ffn = 96};
  spec.kernels.separate_experts = true;
  const auto out = transformer_costs(spec, route_experts(spec), 0).layer(0).moe->experts.out;
  EXPECT_EQ(std::get<GemmShape>(out.forward.shape), (GemmShape{.m = 16, .n = 64, .k = 96}));
  EXPECT_EQ(std::get<GemmShape>(out.input_gradient.shape), (GemmShape{.m = 16, .n = 96, .k = 64}));
  EXPECT_EQ(std::get<GemmShape>(out.weight_gradient.shape), (GemmShape{.m = 96, .n = 64, .k = 16}));
  EXPECT_EQ(out.forward.flops, 8u * 2 * 16 * 64 * 96);
  spec.kernels.dense_experts = true;
  EXPECT_THROW(check(spec), SpecProblem);
}

// What an all-to-all brings a device of several experts: 128 slots, 64 wide, read and written.
TEST(Kernels, SlotsAreSortedByExpertAndBack) {
  TransformerSpec spec = tests::tiny_llama();
  spec.model.moe = {.experts = 8, .top_k = 2, .ffn = 96};
  spec.parallel.data = 4;
  spec.parallel.expert = 4;
  spec.global_batch_sequences *= 4;
  spec.kernels.sort_slots = true;
  const WorkloadGraph graph = generate_transformer(spec);
  const std::uint64_t moved = 128 * 64;
  const std::vector<NamedNode> sorted = nodes_named(graph, 0, "sort");
  const std::vector<NamedNode> back = nodes_named(graph, 0, "sort.back");
  ASSERT_EQ(sorted.size(), 2 * nodes_named(graph, 0, "permute").size());
  ASSERT_EQ(2 * back.size(), sorted.size());  // whose names start so, too
  expect_kernels({sorted.front()}, {{"sort", 0, 2 * moved, 2 * moved}});
  for (const std::int64_t experts_of_one_or_nodes : {4, 8}) {  // one a device; or in order
    spec.model.moe.experts = experts_of_one_or_nodes;
    spec.routing.node_devices = experts_of_one_or_nodes == 8 ? 4 : 0;
    EXPECT_TRUE(nodes_named(generate_transformer(spec), 0, "sort").empty());
  }
}

// 64 tokens of 64 elements for queries, a quarter as many for keys and for values.
TEST(Kernels, Fp8AttentionHasItsOperandsConverted) {
  TransformerSpec spec = fp8_llama();
  spec.attention_precision = schema::DataType::FP8;
  const WorkloadGraph graph = generate_transformer(spec);
  std::size_t cores = 0;
  for (const NamedNode& node : nodes_named(graph, 0, "attention")) {
    if (node.node.getOperation() != schema::Operation::ATTENTION) continue;
    ++cores;
    EXPECT_EQ(node.node.getDataType(), schema::DataType::FP8) << node.name;
  }
  EXPECT_EQ(cores, 2u * 4 * 4) << "both passes of four micro-batches and layers";
  const std::uint64_t q = 64 * 64, qkv = q + 2 * q / 4;
  expect_kernels({nodes_named(graph, 0, "attention.cast").front()},
                 {{"attention.cast", qkv, 2 * qkv, 2 * qkv}});
  expect_kernels({nodes_named(graph, 0, "attention.cast.backward").front()},
                 {{"attention.cast.backward", q, 2 * q, 2 * q}});
}

TEST(Kernels, AttentionInAnotherTypeThanFp8IsRefused) {
  TransformerSpec spec = fp8_llama();
  spec.attention_precision = schema::DataType::FP16;
  EXPECT_THROW(generate_transformer(spec), SpecProblem);
  spec.attention_precision = schema::DataType::FP8;
  spec.flash_attention = false;
  EXPECT_THROW(generate_transformer(spec), SpecProblem);
  spec.flash_attention = true;
  spec.gemm_precision = schema::DataType::NONE;
  EXPECT_THROW(generate_transformer(spec), SpecProblem);
}

TEST(Kernels, LayersAtTheEndsKeepTheirPrecision) {
  TransformerSpec spec = fp8_llama();
  spec.gemm_precision_ends = 1;
  const WorkloadGraph graph = generate_transformer(spec);
  for (const NamedNode& node : nodes_named(graph, 0, "ffn_in")) {
    const bool at_end = node.node.getLayer() == 0 || node.node.getLayer() == 3;
    EXPECT_EQ(node.node.getDataType(), at_end ? schema::DataType::BF16 : schema::DataType::FP8);
  }
  for (const NamedNode& node : nodes_named(graph, 0, "cast")) {
    EXPECT_TRUE(node.node.getLayer() == 1 || node.node.getLayer() == 2);
  }
}

TEST(Kernels, LayersAtTheEndAloneKeepTheirPrecision) {
  TransformerSpec spec = fp8_llama();
  spec.gemm_precision_last = 3;
  spec.model.predictions = 1;
  const WorkloadGraph graph = generate_transformer(spec);
  for (const NamedNode& node : nodes_named(graph, 0, "ffn_in")) {
    const bool at_end = node.node.getLayer() != 0;
    EXPECT_EQ(node.node.getDataType(), at_end ? schema::DataType::BF16 : schema::DataType::FP8);
  }
  for (const NamedNode& node : nodes_named(graph, 0, "prediction_in")) {
    EXPECT_EQ(node.node.getDataType(), schema::DataType::BF16);
  }
  spec.gemm_precision_last = 0;
  const WorkloadGraph narrow = generate_transformer(spec);
  for (const NamedNode& node : nodes_named(narrow, 0, "prediction_in")) {
    EXPECT_EQ(node.node.getDataType(), schema::DataType::FP8);
  }
}

// P = 4 layers, embedding and head of 512 x 64 each, and the last norm.
TEST(Kernels, TheEndOfAStepUnscalesClipsAndCopies) {
  TransformerSpec spec = tests::tiny_llama();
  spec.precision = schema::DataType::FP16;
  spec.gradient_precision = schema::DataType::FP16;
  spec.kernels = {};
  spec.host_time = {5'000'000};
  const WorkloadGraph graph = generate_transformer(spec);
  const std::uint64_t p = 4 * kLayerParameters + 2 * 512 * 64 + 64;
  const auto nodes = tests::nodes_of(graph, 0, Phase::OPTIMIZER, kNoLayer, kNoMicroBatch);
  expect_kernels(nodes, {{"gradients.unscale", 2 * p, 6 * p, 8 * p},
                         {"gradient_norm", 2 * p, 4 * p, 4},
                         {"gradients.clip", p, 4 * p, 4 * p},
                         {"adam", 10 * p, 16 * p, 12 * p},
                         {"weights.copy", 0, 4 * p, 2 * p}});
  const auto host = nodes_named(graph, 0, "host");
  ASSERT_EQ(host.size(), 1u);
  EXPECT_EQ(host[0].node.getDurationPs(), 5'000'000u);
}

TEST(Kernels, LatentRecomputationRepeatsWhatIsCheap) {
  TransformerSpec spec = tests::tiny_llama();
  spec.model.mla = {
      .query_rank = 32, .key_value_rank = 16, .nope_dim = 8, .rope_dim = 4, .value_dim = 8};
  const std::uint64_t held = generate_transformer(spec).program(0).memory()->largest().bytes;
  spec.recompute.kind = Recompute::kLatent;
  const WorkloadGraph graph = generate_transformer(spec);
  std::vector<std::string> names;
  for (const NamedNode& node : of_layer(graph, Phase::RECOMPUTE, 0)) names.push_back(node.name);
  EXPECT_EQ(names, (std::vector<std::string>{"activation", "norm", "q", "kv", "norm"}));
  EXPECT_LT(graph.program(0).memory()->largest().bytes, held);
}

TEST(Kernels, RecomputedNodesSayThatTheyAre) {
  TransformerSpec spec = tests::tiny_llama();
  spec.recompute.kind = Recompute::kFull;
  const WorkloadGraph graph = generate_transformer(spec);
  EXPECT_EQ(of_layer(graph, Phase::RECOMPUTE, 0).size(), of_layer(graph, Phase::FORWARD, 0).size());
  spec.recompute.kind = Recompute::kSelective;
  const WorkloadGraph selective = generate_transformer(spec);
  ASSERT_EQ(of_layer(selective, Phase::RECOMPUTE, 0).size(), 1u);
  EXPECT_EQ(of_layer(selective, Phase::RECOMPUTE, 0)[0].name, "attention");
}

// Tensor and data groups, and the pipeline's two.
TEST(Kernels, ReservesAreHeldAllTheTime) {
  TransformerSpec spec = tests::tiny_llama();
  spec.parallel = {.tensor = 2, .pipeline = 2, .data = 2};
  const auto activations = [&spec] {
    return generate_transformer(spec).program(0).memory()->largest().bytes;
  };
  const std::uint64_t tensors = activations();
  spec.reserves = {.framework = 1'000, .communicator = 100, .fragmentation = 0.5};
  EXPECT_EQ(activations(), tensors + tensors / 2 + 1'000 + 4 * 100);
}

// Four layers in two chunks of a stage: a bucket ends with the layer that fills it.
TEST(Kernels, BucketsEndWhenFullAndWithTheirChunk) {
  TransformerSpec spec = tests::tiny_llama();
  spec.model.layers = 12;
  spec.parallel.pipeline = 2;
  spec.parallel.data = 2;
  spec.schedule.virtual_stages = 2;
  const auto reductions = [&spec](std::int64_t parameters) {
    spec.gradient_bucket_parameters = parameters;
    return nodes_named(generate_transformer(spec), 1, "gradient.reduce_scatter").size();
  };
  EXPECT_EQ(reductions(1'000'000'000), 2u);  // one a chunk
  EXPECT_EQ(reductions(static_cast<std::int64_t>(kLayerParameters)), 6u);
  EXPECT_EQ(reductions(static_cast<std::int64_t>(kLayerParameters) + 1), 4u);
}

TEST(Kernels, AStageWaitsForWhatItSendsWhereTransfersAreExposed) {
  TransformerSpec spec = tests::tiny_llama();
  spec.parallel.pipeline = 2;
  const auto waits_for_send = [&spec](bool overlaps) {
    spec.overlap.pipeline = overlaps;
    const WorkloadGraph graph = generate_transformer(spec);
    const Program& program = graph.program(0);
    std::size_t count = 0;
    for (std::uint32_t i = 0; i < program.node_count(); ++i) {
      const schema::Node::Reader node = program.node(i);
      for (std::uint32_t d = 0; d < node.getDependencyCount(); ++d) {
        const schema::Node::Reader awaited = program.node(program.dependency(node, d));
        if (awaited.getKind() == schema::NodeKind::SEND) ++count;
      }
    }
    return count;
  };
  EXPECT_EQ(waits_for_send(true), 0u);
  EXPECT_EQ(waits_for_send(false), 4u);  // one a micro-batch
}

}  // namespace
}  // namespace exawarp::tests
