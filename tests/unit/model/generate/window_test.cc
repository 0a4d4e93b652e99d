// Attention through a window: which layers have it, and what it takes.
#include <gtest/gtest.h>

#include "model/generate/transformer.h"
#include "model/generate/transformer_costs.h"
#include "tests/support/workload_builders.h"

namespace exawarp::tests {
namespace {

using namespace model;

TransformerSpec windowed(std::int64_t window, std::int64_t full_every) {
  TransformerSpec spec = tests::tiny_llama();
  spec.model.window = window;
  spec.model.full_attention_every = full_every;
  check(spec);
  return spec;
}

OperationCost core_of(const TransformerSpec& spec, std::uint32_t layer) {
  return transformer_costs(spec, route_experts(spec), 0).layer(layer).attention[0].core[0];
}

AttentionShape shape_of(const OperationCost& core) {
  return std::get<AttentionShape>(core.shape);
}

// Of every two layers the second sees all 32 tokens: 16 on average. Through a window of 16 the
// first 16 queries see 8 on average, the others 16: 12.
TEST(Window, LayersInTurn) {
  const TransformerSpec spec = windowed(16, 2);
  const OperationCost narrow = core_of(spec, 0), whole = core_of(spec, 1);
  EXPECT_EQ(shape_of(narrow).window, 16u);
  EXPECT_EQ(shape_of(whole).window, 0u);
  EXPECT_EQ(whole.flops, core_of(windowed(0, 0), 0).flops);
  EXPECT_EQ(narrow.flops * 16, whole.flops * 12);
  EXPECT_EQ(narrow.bytes_read, whole.bytes_read);
  const auto costs = transformer_costs(spec, route_experts(spec), 0);
  EXPECT_LT(costs.layer(0).model_flops, costs.layer(1).model_flops);
  EXPECT_LT(costs.layer(0).attention[0].core_backward[0].flops,
            costs.layer(1).attention[0].core_backward[0].flops);
}

TEST(Window, EveryLayer) {
  const TransformerSpec spec = windowed(16, 0);
  EXPECT_EQ(shape_of(core_of(spec, 0)).window, 16u);
  EXPECT_EQ(shape_of(core_of(spec, 1)).window, 16u);
}

TEST(Window, AsWideAsTheSequenceSeesAll) {
  EXPECT_EQ(shape_of(core_of(windowed(32, 0), 0)).window, 0u);
  EXPECT_EQ(core_of(windowed(32, 0), 0).flops, core_of(windowed(0, 0), 0).flops);
}

// Layers with experts, too, each with its own.
TEST(Window, WithExperts) {
  TransformerSpec spec = windowed(16, 2);
  spec.model.moe = {.experts = 8, .top_k = 2, .ffn = 96, .dense_layers = 1};
  const auto costs = transformer_costs(spec, route_experts(spec), 0);
  EXPECT_FALSE(costs.layer(0).moe.has_value());
  EXPECT_TRUE(costs.layer(1).moe.has_value());
  EXPECT_EQ(shape_of(costs.layer(0).attention[0].core[0]).window, 16u);
  EXPECT_EQ(shape_of(costs.layer(1).attention[0].core[0]).window, 0u);
}

TEST(Window, IsForCausalDecodersWithKeysOfTheirOwn) {
  TransformerSpec spec = tests::tiny_llama();
  spec.model.window = 16;
  spec.model.causal = false;
  EXPECT_THROW(check(spec), SpecProblem);
  spec.model.causal = true;
  check(spec);
  spec.model.mla = {.key_value_rank = 16, .nope_dim = 16, .rope_dim = 8, .value_dim = 16};
  EXPECT_THROW(check(spec), SpecProblem);
}

}  // namespace
}  // namespace exawarp::tests
