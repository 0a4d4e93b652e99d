// Per-layer FLOPs and bytes against values worked out by hand from docs/model.md.
// T = 64 tokens, H = 64, F = 160, q = 64, k = 16, V = 512, e = 2 bytes, t = 2.
#include <gtest/gtest.h>

#include "model/workload/transformer.h"
#include "model/workload/transformer_costs.h"
#include "tests/support/workload_builders.h"

namespace exawarp::model {
namespace {

using test_support::NamedNode;

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

TEST(TransformerCosts, LlamaForwardWithSequenceParallelismEqualsTheTable) {
  TransformerSpec spec = test_support::tiny_llama();
  spec.parallel.tensor = 2;
  const WorkloadGraph graph = generate_transformer(spec);
  expect_rows(test_support::nodes_of(graph, 0, schema::Phase::FORWARD, 1, 0),
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
  TransformerSpec spec = test_support::tiny_llama();
  spec.parallel.tensor = 2;
  const WorkloadGraph graph = generate_transformer(spec);
  expect_rows(
      test_support::nodes_of(graph, 0, schema::Phase::BACKWARD, 1, 0),
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
  TransformerSpec spec = test_support::tiny_gpt();
  spec.parallel.tensor = 2;
  spec.parallel.sequence_parallel = false;
  const WorkloadGraph graph = generate_transformer(spec);
  expect_rows(test_support::nodes_of(graph, 0, schema::Phase::FORWARD, 2, 1),
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
  TransformerSpec spec = test_support::tiny_llama();
  const TransformerCosts causal = transformer_costs(spec);
  spec.model.causal = false;
  const TransformerCosts full = transformer_costs(spec);
  EXPECT_EQ(full.attention.forward.flops, 2 * causal.attention.forward.flops);
  EXPECT_EQ(full.attention.forward.flops, 4ull * 64 * 32 * 64);
  EXPECT_EQ(full.attention.backward.flops, 10ull * 64 * 32 * 64);
}

TEST(TransformerCosts, HeadDimReplacesHiddenInTheProjections) {
  TransformerSpec spec = test_support::tiny_llama();
  spec.model.head_dim = 16;  // q = 128, k = 32
  const TransformerCosts costs = transformer_costs(spec);
  EXPECT_EQ(costs.qkv.forward.flops, 2ull * 64 * 64 * (128 + 64));
  EXPECT_EQ(costs.projection.forward.flops, 2ull * 64 * 128 * 64);
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

TEST(TransformerCosts, SizesBeyondTheLimitAreRefusedNotWrapped) {
  TransformerSpec spec = test_support::tiny_llama();
  spec.model.hidden = 1 << 24;
  spec.model.ffn = 1 << 24;
  spec.sequence_length = 1 << 24;
  EXPECT_THROW(transformer_costs(spec), SpecProblem);
}

}  // namespace
}  // namespace exawarp::model
