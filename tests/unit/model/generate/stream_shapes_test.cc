// Which kernels of a transformer have a shape that measured tables go by: norms, activations,
// conversions and sums (StreamShape), and products of converted operands.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "model/generate/transformer.h"
#include "tests/support/workload_builders.h"

namespace exawarp::tests {
namespace {

using namespace model;
using Kernel = schema::StreamKernel;

// Shapes of all nodes of program 0, by name.
std::map<std::string, std::set<Shape>> shapes_of(const TransformerSpec& spec) {
  const WorkloadGraph graph = generate_transformer(spec);
  std::map<std::string, std::set<Shape>> shapes;
  const auto& program = graph.program(0);
  for (std::uint32_t i = 0; i < program.node_count(); ++i) {
    const schema::Node::Reader node = program.node(i);
    if (node.getKind() != schema::NodeKind::COMPUTE) continue;
    shapes[graph.node_name(node)].insert(graph.shape_of(node));
  }
  return shapes;
}

std::set<Shape> one(Kernel kernel, std::uint64_t rows, std::uint64_t width) {
  return {StreamShape{.kernel = kernel, .rows = rows, .width = width}};
}

// T = 64 tokens, H = 64, F = 160, q = 64, k = 16.
TEST(StreamShapes, OfALlamaLayer) {
  TransformerSpec spec = tests::tiny_llama();
  spec.kernels = {};
  const auto shapes = shapes_of(spec);
  EXPECT_EQ(shapes.at("norm"), one(Kernel::RMS_NORM, 64, 64));
  EXPECT_EQ(shapes.at("norm.backward"), one(Kernel::RMS_NORM_BACKWARD, 64, 64));
  EXPECT_EQ(shapes.at("residual"), one(Kernel::ADD, 64, 64));
  EXPECT_EQ(shapes.at("activation"), one(Kernel::SWIGLU, 64, 160));
  EXPECT_EQ(shapes.at("activation.backward"), one(Kernel::SWIGLU_BACKWARD, 64, 160));
  EXPECT_EQ(shapes.at("rotary"), one(Kernel::ROTARY, 1, 64 * 80));
  spec.model.gated_ffn = false;
  const auto others = shapes_of(spec);
  EXPECT_EQ(others.at("norm"), one(Kernel::LAYER_NORM, 64, 64));
  EXPECT_EQ(others.at("activation"), one(Kernel::GELU, 64, 160));
}

// Not fused, or with dropout's mask: other kernels than were measured.
TEST(StreamShapes, OfOtherKernelsAreNotKnown) {
  TransformerSpec spec = tests::tiny_llama();
  spec.kernels = {};
  spec.kernels.fused_activation = false;
  spec.dropout = true;
  const auto shapes = shapes_of(spec);
  EXPECT_EQ(shapes.at("activation"), std::set<Shape>{Shape{}});
  EXPECT_EQ(shapes.at("residual"), std::set<Shape>{Shape{}});
}

// Such a workload is sound, all the same.
TEST(StreamShapes, LargerThanAShapeCanSayAreNotKnown) {
  TransformerSpec spec = tests::tiny_llama();
  spec.kernels = {};
  spec.sequence_length = std::int64_t{1} << 12;
  spec.micro_batch_sequences = std::int64_t{1} << 22;
  spec.global_batch_sequences = 4 * spec.micro_batch_sequences;
  EXPECT_EQ(shapes_of(spec).at("rotary"), std::set<Shape>{Shape{}});
}

// H (q + 2 k) + q H + 3 H F + 2 H.
constexpr std::uint64_t kLayerParameters = 64 * 96 + 64 * 64 + 3 * 64 * 160 + 2 * 64;

TEST(StreamShapes, OfAccumulation) {
  TransformerSpec spec = tests::tiny_llama();
  spec.kernels = {};
  const auto later = [&] {
    std::set<Shape> all = shapes_of(spec).at("accumulate");
    all.erase(Shape{});  // the first micro-batch's
    return all;
  };
  const auto adds = [&](Kernel kernel, std::uint64_t rows) {
    return later().contains(
        StreamShape{.kernel = kernel, .rows = rows, .width = kLayerParameters});
  };
  EXPECT_TRUE(adds(Kernel::PRODUCT_ADD_FP32, 64));
  spec.gradient_precision = schema::DataType::BF16;
  EXPECT_TRUE(adds(Kernel::PRODUCT_ADD_BF16, 64));
  spec.gradient_precision = schema::DataType::FP32;
  spec.kernels.accumulation = Accumulation::kSeparate;
  EXPECT_TRUE(adds(Kernel::ACCUMULATE, 1));
}

// Of 8 experts each token is sent to two: a quarter of the tokens for each.
TEST(StreamShapes, ExpertsSumUpTheirOwnTokens) {
  TransformerSpec spec = tests::tiny_llama();
  spec.kernels = {};
  spec.model.moe = {.experts = 8, .top_k = 2, .ffn = 160};
  std::set<std::uint64_t> summed;
  const std::set<Shape> shapes = shapes_of(spec).at("accumulate");
  for (const Shape& shape : shapes) {
    if (const auto* stream = std::get_if<StreamShape>(&shape)) {
      if (stream->width > 100'000) summed.insert(stream->rows);
    }
  }
  EXPECT_EQ(summed, std::set<std::uint64_t>{16});
}

TEST(StreamShapes, OfConversionsAndWhatTheyConvert) {
  TransformerSpec spec = tests::tiny_llama();
  spec.gemm_precision = schema::DataType::FP8;
  spec.kernels = {};
  spec.kernels.fused_casts = false;
  const auto kernel = [&] {
    const Shape shape = *shapes_of(spec).at("cast").begin();
    return std::get<StreamShape>(shape).kernel;
  };
  EXPECT_EQ(kernel(), Kernel::CAST_TRANSPOSE_FP8);
  EXPECT_EQ(shapes_of(spec).at("ffn_out"),
            (std::set<Shape>{GemmShape{.m = 64, .n = 64, .k = 160, .converted = true}}));
  EXPECT_EQ(shapes_of(spec).at("head").size(), 1u);
  EXPECT_FALSE(std::get<GemmShape>(*shapes_of(spec).at("head").begin()).converted);
  spec.kernels.transposes = false;
  EXPECT_EQ(kernel(), Kernel::CAST_FP8);
  spec.kernels.current_scaling = true;
  EXPECT_EQ(kernel(), Kernel::SCALED_CAST_FP8);
  spec.kernels.transposes = true;
  EXPECT_EQ(kernel(), Kernel::SCALED_CAST_TRANSPOSE_FP8);
  spec.kernels.current_scaling = false;
  spec.kernels.fused_casts = true;
  EXPECT_EQ(shapes_of(spec).at("transpose"), one(Kernel::TRANSPOSE_FP8, 1, 64 * 64));
  spec.kernels.casts = false;
  EXPECT_FALSE(std::get<GemmShape>(*shapes_of(spec).at("ffn_out").begin()).converted)
      << "the product's kernel converts";
}

}  // namespace
}  // namespace exawarp::tests
