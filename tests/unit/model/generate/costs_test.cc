// Per-layer FLOPs and bytes against values worked out by hand from docs/reference/model.md.
// T = 64 tokens, H = 64, F = 160, q = 64, k = 16, V = 512, e = 2 bytes, t = 2.
#include <gtest/gtest.h>

#include "model/generate/transformer.h"
#include "model/generate/transformer_costs.h"
#include "tests/support/workload_builders.h"

namespace exawarp::tests {
namespace {

using namespace model;

struct Row {
  const char* name;
  std::uint64_t flops, read, written, comm;
};

void expect_rows(const std::vector<NamedNode>& nodes, const std::vector<Row>& rows) {
  ASSERT_EQ(nodes.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(std::to_string(i) + " " + rows[i].name);
    EXPECT_EQ(nodes[i].name, rows[i].name);
    EXPECT_EQ(nodes[i].node.getFlops(), rows[i].flops);
    EXPECT_EQ(nodes[i].node.getBytesRead(), rows[i].read);
    EXPECT_EQ(nodes[i].node.getBytesWritten(), rows[i].written);
    EXPECT_EQ(nodes[i].node.getCommBytes(), rows[i].comm);
  }
}

TransformerCosts costs_of(const TransformerSpec& spec) {
  return transformer_costs(spec, route_experts(spec), 0);
}

TEST(TransformerCosts, GradientsOfAProductPermuteItsShape) {
  TransformerSpec spec = tests::tiny_llama();
  spec.parallel.tensor = 2;
  const TransformerCosts costs = costs_of(spec);
  const GemmCosts& out = costs.layer(0).ffn->out;
  EXPECT_EQ(out.forward.shape, Shape(GemmShape{.m = 64, .n = 64, .k = 80}));
  EXPECT_EQ(out.input_gradient.shape, Shape(GemmShape{.m = 64, .n = 80, .k = 64}));
  EXPECT_EQ(out.weight_gradient.shape, Shape(GemmShape{.m = 80, .n = 64, .k = 64}));
}

// 2 m n k of every product, and of attention's two, half of them if causal.
double work_of(const Shape& shape) {
  if (const auto* gemm = std::get_if<GemmShape>(&shape)) {
    return 2.0 * static_cast<double>(gemm->m * gemm->n * gemm->k * gemm->batch);
  }
  const auto* core = std::get_if<AttentionShape>(&shape);
  if (core == nullptr || core->backward) return 0;
  const double own = static_cast<double>(core->new_tokens) / (core->causal ? 2 : 1);
  return 2.0 * static_cast<double>(core->batch * core->new_tokens * core->heads *
                                   (core->head_dim + core->value_dim)) *
         (static_cast<double>(core->past_tokens) + own);
}

TEST(TransformerCosts, ShapesSayTheFlopsOfTheirOperations) {
  for (const ContextMethod method :
       {ContextMethod::kRing, ContextMethod::kAllGather, ContextMethod::kUlysses}) {
    TransformerSpec spec = tests::tiny_gpt();
    spec.parallel.tensor = 2;
    spec.parallel.context = 2;
    spec.parallel.context_method = method;
    const TransformerCosts costs = costs_of(spec);
    const AttentionCosts& attention = costs.layer(0).attention[0];
    for (const OperationCost* cost :
         {&attention.in[0].forward, &attention.in[0].weight_gradient, &attention.core[0],
          &attention.projection.forward, &costs.head.input_gradient}) {
      EXPECT_EQ(work_of(cost->shape), static_cast<double>(cost->flops)) << cost->name;
    }
  }
}

TEST(TransformerCosts, LlamaForwardWithSequenceParallelismEqualsTheTable) {
  TransformerSpec spec = tests::tiny_llama();
  spec.parallel.tensor = 2;
  const WorkloadGraph graph = generate_transformer(spec);
  expect_rows(tests::nodes_of(graph, 0, schema::Phase::FORWARD, 1, 0),
              {{"norm", 10240, 4096, 4096, 0},
               {"tensor.all_gather", 0, 0, 0, 4096},
               {"qkv", 393216, 14336, 6144, 0},
               {"rotary", 0, 5120, 5120, 0},
               {"attention", 131072, 6144, 4096, 0},
               {"projection", 262144, 8192, 8192, 0},
               {"tensor.reduce_scatter", 0, 0, 0, 8192},
               {"residual", 2048, 8192, 4096, 0},
               {"norm", 10240, 4096, 4096, 0},
               {"tensor.all_gather", 0, 0, 0, 4096},
               {"ffn_in", 1310720, 28672, 20480, 0},
               {"activation", 25600, 20480, 10240, 0},
               {"ffn_out", 655360, 20480, 8192, 0},
               {"tensor.reduce_scatter", 0, 0, 0, 8192},
               {"residual", 2048, 8192, 4096, 0}});
}

TEST(TransformerCosts, LlamaBackwardWithSequenceParallelismEqualsTheTable) {
  TransformerSpec spec = tests::tiny_llama();
  spec.parallel.tensor = 2;
  const WorkloadGraph graph = generate_transformer(spec);
  expect_rows(
      tests::nodes_of(graph, 0, schema::Phase::BACKWARD, 1, 0),
      {{"tensor.all_gather", 0, 0, 0, 4096},      {"ffn_out.dx", 655360, 18432, 10240, 0},
       {"ffn_out.dw", 655360, 18432, 10240, 0},   {"activation.backward", 25600, 30720, 20480, 0},
       {"tensor.all_gather", 0, 0, 0, 4096},      {"ffn_in.dx", 1310720, 40960, 8192, 0},
       {"tensor.reduce_scatter", 0, 0, 0, 8192},  {"ffn_in.dw", 1310720, 28672, 20480, 0},
       {"norm.backward", 10240, 8192, 4096, 0},   {"residual.backward", 2048, 8192, 4096, 0},
       {"tensor.all_gather", 0, 0, 0, 4096},      {"projection.dx", 262144, 12288, 4096, 0},
       {"projection.dw", 262144, 12288, 4096, 0}, {"attention.backward", 327680, 14336, 6144, 0},
       {"rotary.backward", 0, 5120, 5120, 0},     {"tensor.all_gather", 0, 0, 0, 4096},
       {"qkv.dx", 393216, 12288, 8192, 0},        {"tensor.reduce_scatter", 0, 0, 0, 8192},
       {"qkv.dw", 393216, 14336, 6144, 0},        {"norm.backward", 10240, 8192, 4096, 0},
       {"residual.backward", 2048, 8192, 4096, 0}});
}

// F = 256, k = 64: no gate, as many kv heads as heads; norms see all tokens.
TEST(TransformerCosts, GptForwardWithoutSequenceParallelismEqualsTheTable) {
  TransformerSpec spec = tests::tiny_gpt();
  spec.parallel.tensor = 2;
  spec.parallel.sequence_parallel = false;
  const WorkloadGraph graph = generate_transformer(spec);
  expect_rows(tests::nodes_of(graph, 0, schema::Phase::FORWARD, 2, 1),
              {{"norm", 20480, 8192, 8192, 0},
               {"qkv", 786432, 20480, 12288, 0},
               {"rotary", 0, 8192, 8192, 0},
               {"attention", 131072, 12288, 4096, 0},
               {"projection", 262144, 8192, 8192, 0},
               {"tensor.all_reduce", 0, 0, 0, 8192},
               {"residual", 4096, 16384, 8192, 0},
               {"norm", 20480, 8192, 8192, 0},
               {"ffn_in", 1048576, 24576, 16384, 0},
               {"activation", 40960, 16384, 16384, 0},
               {"ffn_out", 1048576, 32768, 8192, 0},
               {"tensor.all_reduce", 0, 0, 0, 8192},
               {"residual", 4096, 16384, 8192, 0}});
}

TEST(TransformerCosts, AttentionThatIsNotCausalTakesTwice) {
  TransformerSpec spec = tests::tiny_llama();
  const AttentionCosts causal = costs_of(spec).kinds[0].attention[0];
  spec.model.causal = false;
  const AttentionCosts full = costs_of(spec).kinds[0].attention[0];
  EXPECT_EQ(full.core[0].flops, 2 * causal.core[0].flops);
  EXPECT_EQ(full.core[0].flops, 4ull * 64 * 32 * 64);
  EXPECT_EQ(full.core_backward[0].flops, 10ull * 64 * 32 * 64);
}

TEST(TransformerCosts, HeadDimReplacesHiddenInTheProjections) {
  TransformerSpec spec = tests::tiny_llama();
  spec.model.head_dim = 16;  // q = 128, k = 32
  const AttentionCosts attention = costs_of(spec).kinds[0].attention[0];
  EXPECT_EQ(attention.in[0].forward.flops, 2ull * 64 * 64 * (128 + 64));
  EXPECT_EQ(attention.projection.forward.flops, 2ull * 64 * 128 * 64);
}

TEST(TransformerCosts, ParametersOfPublishedModelsAreRight) {
  const ModelSpec llama{.name = {},
                        .layers = 126,
                        .hidden = 16384,
                        .ffn = 53248,
                        .heads = 128,
                        .kv_heads = 8,
                        .vocabulary = 128256};
  EXPECT_NEAR(static_cast<double>(parameter_count(llama)), 405.85e9, 0.01e9);
  const ModelSpec gpt3{.name = {},
                       .layers = 96,
                       .hidden = 12288,
                       .ffn = 49152,
                       .heads = 96,
                       .vocabulary = 50257,
                       .gated_ffn = false,
                       .tied_embeddings = true};
  EXPECT_NEAR(static_cast<double>(parameter_count(gpt3)), 174.6e9, 0.1e9);
}

ModelSpec published(ModelSpec model, const MoeSpec& moe) {
  model.moe = moe;
  return model;
}

// Mixtral 8x7B: 46.7 B (arXiv:2401.04088); DeepSeek-V3: 671 B (arXiv:2412.19437) less its
// multi-token prediction module.
TEST(TransformerCosts, ParametersOfModelsWithExpertsAreRight) {
  const ModelSpec mixtral = published({.name = {},
                                       .layers = 32,
                                       .hidden = 4096,
                                       .ffn = 14336,
                                       .heads = 32,
                                       .kv_heads = 8,
                                       .vocabulary = 32000},
                                      {.experts = 8, .top_k = 2, .ffn = 14336});
  EXPECT_NEAR(static_cast<double>(parameter_count(mixtral)), 46.70e9, 0.01e9);
  ModelSpec deepseek = published(
      {.name = {}, .layers = 61, .hidden = 7168, .ffn = 18432, .heads = 128, .vocabulary = 129280},
      {.experts = 256, .top_k = 8, .ffn = 2048, .shared_ffn = 2048, .dense_layers = 3});
  deepseek.mla = {
      .query_rank = 1536, .key_value_rank = 512, .nope_dim = 128, .rope_dim = 64, .value_dim = 128};
  EXPECT_NEAR(static_cast<double>(parameter_count(deepseek)), 671.0e9, 0.1e9);
}

// T5-11B (Raffel et al., JMLR 2020) and ViT-L/16 (Dosovitskiy et al., ICLR 2021).
TEST(TransformerCosts, ParametersOfOtherFamiliesAreRight) {
  ModelSpec t5{.name = {},
               .layers = 24,
               .hidden = 1024,
               .ffn = 65536,
               .heads = 128,
               .head_dim = 128,
               .vocabulary = 32128,
               .gated_ffn = false,
               .tied_embeddings = true};
  t5.family = ModelFamily::kEncoderDecoder;
  t5.encoder_layers = 24;
  EXPECT_NEAR(static_cast<double>(parameter_count(t5)), 11.3e9, 0.1e9);
  ModelSpec vit{
      .name = {}, .layers = 24, .hidden = 1024, .ffn = 4096, .heads = 16, .gated_ffn = false};
  vit.family = ModelFamily::kVision;
  vit.image = 224;
  vit.patch = 16;
  vit.classes = 1000;
  EXPECT_NEAR(static_cast<double>(parameter_count(vit)), 304e6, 2e6);
}

// A product in fp8 reads bytes and writes bf16.
TEST(TransformerCosts, ProductsReadInTheirOwnPrecision) {
  TransformerSpec spec = tests::tiny_llama();
  const OperationCost bf16 = costs_of(spec).kinds[0].ffn->in.forward;
  spec.gemm_precision = schema::DataType::FP8;
  const OperationCost fp8 = costs_of(spec).kinds[0].ffn->in.forward;
  EXPECT_EQ(fp8.data_type, schema::DataType::FP8);
  EXPECT_EQ(2 * fp8.bytes_read, bf16.bytes_read);
  EXPECT_EQ(fp8.bytes_written, bf16.bytes_written);
  EXPECT_EQ(fp8.flops, bf16.flops);
}

// Korthikanti et al. (arXiv:2205.05198), a GPT layer without dropout's masks: 32 bytes for each of
// its S B H elements where attention is flash, and 2 a S/H more for the scores where it is not.
TEST(TransformerCosts, ALayerLeavesThirtyTwoBytesAnElementBehind) {
  TransformerSpec spec = tests::tiny_gpt();
  spec.parallel.tensor = 2;
  const std::uint64_t elements = 64 * 64 / 2;  // T H/t
  EXPECT_EQ(costs_of(spec).kinds[0].saved.all(), 32 * elements);
  EXPECT_EQ(costs_of(spec).kinds[0].saved.input, 2 * elements);
  spec.flash_attention = false;
  EXPECT_EQ(costs_of(spec).kinds[0].saved.scores, 2ull * 64 * 32 * 8 / 2);
}

TEST(TransformerCosts, SizesBeyondTheLimitAreRefusedNotWrapped) {
  TransformerSpec spec = tests::tiny_llama();
  spec.model.hidden = 1 << 24;
  spec.model.ffn = 1 << 24;
  spec.sequence_length = 1 << 24;
  EXPECT_THROW(costs_of(spec), SpecProblem);
}

}  // namespace
}  // namespace exawarp::tests
