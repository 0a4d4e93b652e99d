// Whole generated workloads: what is sent, when, and the totals.
#include "model/generate/transformer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "model/workload/validate.h"
#include "tests/support/workload_builders.h"
#include "tests/unit/model/workload/refusal.h"

namespace exawarp::tests {
namespace {

using namespace model;

TransformerSpec llama_405b(std::int64_t data) {
  TransformerSpec spec;
  spec.model = {.name = "llama3_405b",
                .layers = 126,
                .hidden = 16384,
                .ffn = 53248,
                .heads = 128,
                .kv_heads = 8,
                .vocabulary = 128256};
  spec.parallel = {.tensor = 8, .pipeline = 16, .data = data};
  spec.sequence_length = 8192;
  spec.global_batch_sequences = 16 * data;
  return spec;
}

std::size_t count(const WorkloadGraph& graph, std::uint32_t program,
                  const std::function<bool(const schema::Node::Reader&)>& wanted) {
  std::size_t found = 0;
  for (std::uint32_t i = 0; i < graph.program(program).node_count(); ++i) {
    if (wanted(graph.program(program).node(i))) ++found;
  }
  return found;
}

auto named(const WorkloadGraph& graph, const std::string& name) {
  return [&graph, name](const schema::Node::Reader& n) { return graph.node_name(n) == name; };
}

std::uint32_t find(const WorkloadGraph& graph, std::uint32_t program, const std::string& name) {
  for (std::uint32_t i = 0; i < graph.program(program).node_count(); ++i) {
    if (graph.node_name(graph.program(program).node(i)) == name) return i;
  }
  ADD_FAILURE() << "no node " << name;
  return 0;
}

TEST(Transformer, ALayerHasSixAllGathersAndFourReduceScatters) {
  TransformerSpec spec = tiny_llama();
  spec.parallel.tensor = 2;
  const WorkloadGraph graph = generate_transformer(spec);
  const auto of_layer = [](schema::CollectiveType type) {
    return [type](const schema::Node::Reader& node) {
      return node.getKind() == schema::NodeKind::COLLECTIVE && node.getLayer() == 2 &&
             node.getMicroBatch() == 0 && node.getCollective() == type;
    };
  };
  EXPECT_EQ(count(graph, 0, of_layer(schema::CollectiveType::ALL_GATHER)), 6u);
  EXPECT_EQ(count(graph, 0, of_layer(schema::CollectiveType::REDUCE_SCATTER)), 4u);
  EXPECT_EQ(count(graph, 0, of_layer(schema::CollectiveType::ALL_REDUCE)), 0u);
}

TEST(Transformer, WithoutSequenceParallelismALayerHasFourAllReduces) {
  TransformerSpec spec = tiny_gpt();
  spec.parallel.tensor = 2;
  spec.parallel.sequence_parallel = false;
  const WorkloadGraph graph = generate_transformer(spec);
  const auto of_layer = [](const schema::Node::Reader& node) {
    return node.getKind() == schema::NodeKind::COLLECTIVE && node.getLayer() == 2 &&
           node.getMicroBatch() == 0;
  };
  EXPECT_EQ(count(graph, 0, of_layer), 4u);
}

TEST(Transformer, OneDeviceCommunicatesNothing) {
  const WorkloadGraph graph = generate_transformer(tiny_llama());
  const auto communicates = [](const schema::Node::Reader& node) {
    return node.getKind() != schema::NodeKind::COMPUTE &&
           node.getKind() != schema::NodeKind::MARKER;
  };
  EXPECT_EQ(count(graph, 0, communicates), 0u);
  EXPECT_EQ(graph.program(0).stream_count(), 1u);
}

TEST(Transformer, GradientsAreReducedOnceAStepAsTheLastMicroBatchFinishesThem) {
  TransformerSpec spec = tiny_llama();
  spec.parallel.data = 2;
  spec.gradient_buckets = 4;
  spec.gradient_precision = schema::DataType::FP32;
  const WorkloadGraph graph = generate_transformer(spec);
  const Program& program = graph.program(0);
  EXPECT_EQ(count(graph, 0, named(graph, "gradient.reduce_scatter")), 4u);
  EXPECT_EQ(count(graph, 0, named(graph, "parameter.all_gather")), 4u);
  // The first bucket: the fourth layer, the final norm and the head, in fp32.
  const auto node = program.node(find(graph, 0, "gradient.reduce_scatter"));
  const std::uint64_t layer = 64 * (64 + 32) + 64 * 64 + 3 * 64 * 160 + 2 * 64;
  EXPECT_EQ(node.getCommBytes(), 4 * (layer + 64 + 512 * 64));
  const auto awaited = program.node(program.dependency(node, 0));
  EXPECT_EQ(awaited.getLayer(), 3);
  EXPECT_EQ(awaited.getMicroBatch(), 1);
  EXPECT_EQ(awaited.getPhase(), schema::Phase::BACKWARD);
  EXPECT_EQ(program.parameter_count(), 4 * layer + 64 + 2 * 512 * 64);
}

TEST(Transformer, OptimizerWorksOnTheShareOfEachDataParallelRank) {
  TransformerSpec spec = tiny_llama();
  spec.parallel.data = 4;
  spec.gradient_buckets = 1;
  const WorkloadGraph graph = generate_transformer(spec);
  const auto adam = graph.program(0).node(find(graph, 0, "adam"));
  const std::uint64_t share = graph.program(0).parameter_count() / 4;
  EXPECT_EQ(adam.getFlops(), 10 * share);
  EXPECT_EQ(adam.getBytesRead(), 16 * share);
  EXPECT_EQ(adam.getBytesWritten(), 14 * share);
  EXPECT_EQ(adam.getPhase(), schema::Phase::OPTIMIZER);
}

TEST(Transformer, GradientNormIsSummedOneAxisAfterTheOther) {
  TransformerSpec spec = tiny_llama();
  spec.parallel = {.tensor = 2, .pipeline = 2, .data = 2};
  const WorkloadGraph graph = generate_transformer(spec);
  const std::uint32_t node = find(graph, 0, "gradient_norm.all_reduce");
  const Program& program = graph.program(0);
  for (const std::uint32_t i : {1u, 2u}) {
    EXPECT_EQ(graph.node_name(program.node(node + i)), "gradient_norm.all_reduce");
    EXPECT_EQ(program.dependency(program.node(node + i), 0), node + i - 1);
  }
  EXPECT_EQ(program.node(node).getCommBytes(), 4u);
  EXPECT_EQ(graph.node_name(program.node(node + 3)), "adam");
}

TEST(Transformer, StagesPassActivationsAndGradients) {
  TransformerSpec spec = tiny_llama();
  spec.parallel.tensor = 2;
  spec.parallel.pipeline = 4;
  const WorkloadGraph graph = generate_transformer(spec);
  const auto sends = [](const schema::Node::Reader& node) {
    return node.getKind() == schema::NodeKind::SEND;
  };
  EXPECT_EQ(count(graph, 0, sends), 4u);  // 4 micro-batches, one direction
  EXPECT_EQ(count(graph, 1, sends), 8u);
  EXPECT_EQ(count(graph, 3, sends), 4u);
  const auto node = graph.program(1).node(find(graph, 1, "pipeline.send"));
  EXPECT_EQ(node.getCommBytes(), 64u * 64 * 2 / 2);  // e T H/t
  EXPECT_EQ(graph.peer(node, {2}).value, 4u);        // the next stage, at the same tensor rank
}

TEST(Transformer, TiedEmbeddingsAreReducedBetweenFirstAndLastStage) {
  TransformerSpec spec = tiny_gpt();
  spec.parallel.data = 2;
  spec.parallel.pipeline = 4;
  const WorkloadGraph graph = generate_transformer(spec);
  for (const std::uint32_t program : {0u, 1u, 2u, 3u}) {
    const bool is_edge = program == 0 || program == 3;
    EXPECT_EQ(count(graph, program, named(graph, "embedding.all_reduce")), is_edge ? 1u : 0u);
  }
  const auto node = graph.program(0).node(find(graph, 0, "embedding.all_reduce"));
  EXPECT_EQ(node.getCommBytes(), 4u * 512 * 64);
  EXPECT_EQ(graph.member(node.getGroup(), {1}, 1).value, 7u);
}

TEST(Transformer, WeightGradientsRunBesideTheReduceScatter) {
  TransformerSpec spec = tiny_llama();
  spec.parallel.tensor = 2;
  const WorkloadGraph graph = generate_transformer(spec);
  const Program& program = graph.program(0);
  const std::uint32_t dw = find(graph, 0, "qkv.dw");
  ASSERT_EQ(graph.node_name(program.node(dw - 1)), "tensor.reduce_scatter");
  const auto node = program.node(dw);
  for (std::uint32_t i = 0; i < node.getDependencyCount(); ++i) {
    EXPECT_NE(program.dependency(node, i), dw - 1);
  }
  const auto norm = program.node(dw + 1);
  ASSERT_EQ(norm.getDependencyCount(), 1u);
  EXPECT_EQ(program.dependency(norm, 0), dw - 1);
}

TEST(Transformer, ModelFlopsAreSixTimesParametersTimesTokensAndAttention) {
  const WorkloadGraph graph = generate_transformer(llama_405b(64));
  const schema::Training::Reader training = graph.training();
  const auto tokens = static_cast<double>(training.getTokensPerStep());
  // Causal: forward 2, backward 4 operations for each of S, q and a layer, a token.
  const double attention = 6.0 * tokens * 8192 * 16384 * 126;
  const double expected = 6.0 * static_cast<double>(training.getParameters()) * tokens + attention;
  EXPECT_NEAR(training.getModelFlopsPerStep() / expected, 1.0, 0.01);
}

// Narayanan et al. (SC 2021), without recomputation: 72 B S L H^2 (1 + S/(6H) + V/(12 L H)).
TEST(Transformer, ModelFlopsOfAGptEqualTheClosedFormula) {
  TransformerSpec spec = tiny_gpt();
  spec.model.causal = false;
  const double h = 64, s = 32, l = 4, v = 512, b = 8;
  EXPECT_DOUBLE_EQ(generate_transformer(spec).training().getModelFlopsPerStep(),
                   72 * b * s * l * h * h * (1 + s / (6 * h) + v / (12 * l * h)));
}

TEST(Transformer, ModelFlopsEqualTheNodesOwnLessRecomputation) {
  TransformerSpec spec = tiny_llama();
  spec.parallel = {.tensor = 2, .pipeline = 2, .data = 2};
  const WorkloadGraph graph = generate_transformer(spec);
  double sum = 0;
  for (std::uint32_t p = 0; p < 2; ++p) {
    for (std::uint32_t i = 0; i < graph.program(p).node_count(); ++i) {
      const auto node = graph.program(p).node(i);
      const bool is_backward = node.getPhase() == schema::Phase::BACKWARD;
      const auto flops = static_cast<double>(node.getFlops());
      if (node.getOperation() == schema::Operation::GEMM) sum += 4 * flops;
      if (node.getOperation() == schema::Operation::ATTENTION) {
        sum += 4 * (is_backward ? flops * 8 / 10 : flops);
      }
    }
  }
  EXPECT_DOUBLE_EQ(graph.training().getModelFlopsPerStep(), sum);
}

TEST(Transformer, MainJobIsUnderSixteenMebibytesAndMatches) {
  const WorkloadGraph graph = generate_transformer(llama_405b(256));
  EXPECT_EQ(graph.device_count(), 32768u);
  EXPECT_EQ(graph.program_count(), 16u);
  EXPECT_LT(graph.root().totalSize().wordCount * 8, 16u << 20);
  EXPECT_TRUE(find_unmatched(graph).empty());
}

TEST(Transformer, FileDoesNotGrowWithDataParallelism) {
  const auto size = [](std::int64_t data) {
    return generate_transformer(llama_405b(data)).root().totalSize().wordCount;
  };
  EXPECT_EQ(size(1) > 0, true);
  EXPECT_EQ(size(8), size(128));
}

class RefusedSpec : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedSpec, NamesTheKeyAndWhatWasExpected) { expect_refused(tiny_llama(), GetParam()); }

const Refusal kBadSpecs[] = {
    {"TensorHeads", [](TransformerSpec& s) { s.parallel.tensor = 3; },
     "parallel.tensor: 3 does not divide heads: 8; expected a divisor"},
    {"TensorKvHeads", [](TransformerSpec& s) { s.parallel.tensor = 4; },
     "parallel.tensor: 4 does not divide kv_heads: 2; expected a divisor"},
    {"TensorFfn", [](TransformerSpec& s) { s.parallel.tensor = 2, s.model.ffn = 161; },
     "parallel.tensor: 2 does not divide ffn: 161; expected a divisor"},
    {"TensorVocabulary", [](TransformerSpec& s) { s.parallel.tensor = 2, s.model.vocabulary = 7; },
     "parallel.tensor: 2 does not divide vocabulary: 7; expected a divisor"},
    {"HeadsHidden", [](TransformerSpec& s) { s.model.heads = 6; },
     "model.heads: 6 does not divide hidden: 64; expected a divisor"},
    {"KvHeads", [](TransformerSpec& s) { s.model.kv_heads = 3; },
     "model.kv_heads: 3 does not divide heads: 8; expected a divisor"},
    {"NoLayers", [](TransformerSpec& s) { s.model.layers = 0; },
     "model.layers: out of range: 0; expected 1 to 65534"},
    {"NegativeHidden", [](TransformerSpec& s) { s.model.hidden = -4; },
     "model.hidden: out of range: -4; expected 1 to 16777216"},
    {"HugeData", [](TransformerSpec& s) { s.parallel.data = std::int64_t{1} << 40; },
     "parallel.data: out of range: 1099511627776; expected 1 to 16777216"},
    {"HugeDevices", [](TransformerSpec& s) { s.parallel.data = s.parallel.pipeline = 1 << 20; },
     "parallel: 1 x 1048576 x 1048576 devices are too many; expected at most 16777216"},
    {"Order",
     [](TransformerSpec& s) {
       s.parallel.order = {"tensor", "data", "data"};
     },
     "parallel.order: not an order of the axes: [tensor, data, data]; expected tensor, data and "
     "pipeline, each once, and at most once context, expert and replica"},
    {"SequenceTensor", [](TransformerSpec& s) { s.parallel.tensor = 2, s.sequence_length = 31; },
     "sequence_length: 31 is no multiple of parallel.tensor: 2, over which sequence parallelism "
     "splits it"},
    {"Batch", [](TransformerSpec& s) { s.parallel.data = 3; },
     "global_batch_sequences: 8 is no multiple of parallel.data x micro_batch_sequences: 3 x 2"},
    {"NoSequence", [](TransformerSpec& s) { s.sequence_length = 0; },
     "sequence_length: out of range: 0; expected 1 to 16777216"},
    {"ManyMicroBatches",
     [](TransformerSpec& s) { s.global_batch_sequences = 1 << 20, s.micro_batch_sequences = 1; },
     "global_batch_sequences: makes 1048576 micro-batches a step; expected at most 65534"},
    {"FewLayers", [](TransformerSpec& s) { s.parallel.pipeline = 5; },
     "model.layers: 4 layers are fewer than 5 pipeline chunks (parallel.pipeline 5 x "
     "schedule.virtual_stages 1); expected at least one each"},
    {"VirtualWithoutPipeline", [](TransformerSpec& s) { s.schedule.virtual_stages = 2; },
     "schedule.virtual_stages: 2 with one pipeline stage; expected 1"},
    {"InterleavedBatch",
     [](TransformerSpec& s) {
       s.parallel.pipeline = s.schedule.virtual_stages = 2;
       s.global_batch_sequences = 6;
     },
     "schedule.virtual_stages: 3 micro-batches are no multiple of parallel.pipeline: 2, as an "
     "interleaved schedule needs; expected 1 virtual stage, or another batch"},
    {"FirstStage",
     [](TransformerSpec& s) { s.parallel.pipeline = 2, s.schedule.first_stage_layers = 4; },
     "schedule.first_stage_layers: leaves 0 of 4 layers for the other 1 pipeline chunks; expected "
     "at least one each"},
    {"Buckets", [](TransformerSpec& s) { s.gradient_buckets = 0; },
     "gradient_buckets: out of range: 0; expected 1 to 65534"},
    {"Precision", [](TransformerSpec& s) { s.precision = schema::DataType::NONE; },
     "precision: none is given; expected one"},
};

INSTANTIATE_TEST_SUITE_P(Transformer, RefusedSpec, testing::ValuesIn(kBadSpecs),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Spec, NamesOfTypesAreListedInTheirOrder) {
  EXPECT_EQ(core::list_of_names(names_of(schema::DataType{})),
            "bf16, fp16, fp32, fp8, int8, fp64, nvfp4");
  EXPECT_EQ(core::value_of<schema::DataType>("bf17"), std::nullopt);
}

}  // namespace
}  // namespace exawarp::tests
