// What experts' biases and clamps cost beside their products.
#include <gtest/gtest.h>

#include "model/generate/transformer_costs.h"
#include "tests/unit/model/generate/split_transformer.h"

namespace exawarp::tests {
namespace {

using namespace model;

// 64 tokens of 2 experts each, of 8 on one device: 128 slots; H = 64, F' = 96.
TransformerSpec with_biases() {
  TransformerSpec spec = split({});
  spec.model.moe = {.experts = 8, .top_k = 2, .ffn = 96, .biases = true, .clamped = true};
  spec.kernels = kernels_of(KernelPreset::kTransformerEngine);
  return spec;
}

ExpertCosts experts_of(const TransformerSpec& spec) {
  return *transformer_costs(spec, route_experts(spec), 0).layer(0).moe;
}

TEST(ExpertBiases, ArePassesOverWhatExpertsWrite) {
  const ExpertCosts experts = experts_of(with_biases());
  const std::uint64_t written = 128 * 64, inner = 128 * 96;
  ASSERT_TRUE(experts.bias.has_value());
  EXPECT_EQ(experts.bias->forward.bytes_read, 14 * written);
  EXPECT_EQ(experts.bias->forward.bytes_written, 14 * written);
  EXPECT_EQ(experts.bias->backward.bytes_read, 24 * written);
  EXPECT_EQ(experts.bias->backward.bytes_written, 16 * written);
  ASSERT_TRUE(experts.experts.activation_parts.has_value());
  EXPECT_EQ(experts.experts.activation_parts->forward.bytes_read, 4 * 2 * inner);
  EXPECT_EQ(experts.experts.activation_parts->backward.bytes_read, 6 * 2 * inner);
}

TEST(ExpertBiases, StandBehindAndBeforeTheSecondProduct) {
  TransformerSpec spec = with_biases();
  const std::uint64_t layers = 4, micro_batches = 2;
  const WorkloadGraph graph = generate_transformer(spec);
  for (const char* name : {"expert.bias", "expert.bias.backward", "expert.clamp",
                           "expert.clamp.backward"}) {
    EXPECT_EQ(total_of(graph, name).count, layers * micro_batches) << name;
  }
  // Activations that are computed again are clamped again.
  spec.recompute.kind = Recompute::kLatent;
  EXPECT_EQ(total_of(generate_transformer(spec), "expert.clamp").count,
            2 * layers * micro_batches);
}

TEST(ExpertBiases, ClampsComeBesideThePartsOfAnActivation) {
  TransformerSpec spec = with_biases();
  spec.kernels.fused_activation = false;
  const OperationPair clamped = *experts_of(spec).experts.activation_parts;
  spec.model.moe.clamped = false;
  const OperationPair plain = *experts_of(spec).experts.activation_parts;
  const std::uint64_t inner = 128 * 96;
  EXPECT_EQ(clamped.forward.bytes_read - plain.forward.bytes_read, 4 * 2 * inner);
  EXPECT_EQ(clamped.forward.bytes_written - plain.forward.bytes_written, 4 * 2 * inner);
  EXPECT_EQ(clamped.backward.bytes_read - plain.backward.bytes_read, 6 * 2 * inner);
  EXPECT_EQ(clamped.backward.flops - plain.backward.flops, 2 * inner);
}

TEST(ExpertBiases, AreWithinFusedProducts) {
  TransformerSpec spec = with_biases();
  spec.kernels.fused_experts = true;
  EXPECT_FALSE(experts_of(spec).bias.has_value());
  spec.kernels.fused_experts = false;
  spec.kernels.fused_biases = true;
  EXPECT_FALSE(experts_of(spec).bias.has_value());
  EXPECT_FALSE(experts_of(spec).experts.activation_parts.has_value());
  EXPECT_TRUE(kernels_of(KernelPreset::kIdeal).fused_biases);
}

}  // namespace
}  // namespace exawarp::tests
