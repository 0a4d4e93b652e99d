// DualPipe: what stages hold, compute, exchange and reduce whose micro-batches come in at both ends
// of the pipeline.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "model/generate/transformer.h"
#include "model/workload/validate.h"
#include "tests/support/workload_builders.h"
#include "tests/unit/model/generate/split_transformer.h"
#include "tests/unit/model/workload/refusal.h"

namespace exawarp::tests {
namespace {

using namespace model;

// Eight micro-batches a data-parallel rank.
TransformerSpec both_ways(const ParallelSpec& parallel) {
  TransformerSpec spec = split(parallel);
  spec.global_batch_sequences = 16 * parallel.data;
  spec.schedule.kind = ScheduleKind::kDualPipe;
  return spec;
}

TEST(BothWays, AStageDoesAsMuchAsInAnotherSchedule) {
  TransformerSpec spec = both_ways({.tensor = 2, .pipeline = 4, .data = 2});
  const WorkloadGraph graph = generate_transformer(spec);
  spec.schedule.kind = ScheduleKind::k1F1B;
  const WorkloadGraph plain = generate_transformer(spec);
  for (const char* name : {"ffn_in", "ffn_in.dw", "qkv.dx", "attention.backward"}) {
    EXPECT_EQ(flops_of(graph, name), flops_of(plain, name)) << name;
  }
  EXPECT_EQ(total_of(graph, "pipeline.send"), total_of(plain, "pipeline.send"));
  EXPECT_EQ(graph.training().getModelFlopsPerStep(), plain.training().getModelFlopsPerStep());
}

TEST(BothWays, AStageHoldsTwoChunksAndSharesThemWithItsMirrorImage) {
  const WorkloadGraph graph = generate_transformer(both_ways({.pipeline = 4, .data = 2}));
  for (const std::uint32_t stage : {0u, 3u}) {
    EXPECT_EQ(graph.program(stage).parameter_count(), 2 * kLayer + 2 * kTable + 64);
  }
  EXPECT_EQ(graph.program(1).parameter_count(), 2 * kLayer);
  const Program& nodes = graph.program(1);
  for (std::uint32_t i = 0; i < nodes.node_count(); ++i) {
    if (graph.node_name(nodes.node(i)) != "gradient.reduce_scatter") continue;
    const std::uint32_t group = nodes.node(i).getGroup();
    ASSERT_EQ(graph.membership(group, core::DeviceId{3}).size, 4u);
    std::vector<std::uint32_t> members;
    for (std::uint32_t m = 0; m < 4; ++m) {
      members.push_back(graph.member(group, core::DeviceId{3}, m).value);
    }
    EXPECT_EQ(members, (std::vector<std::uint32_t>{2, 3, 4, 5}));  // stages 1 and 2
    return;
  }
  FAIL() << "no gradient.reduce_scatter";
}

TEST(BothWays, ATableThatIsEmbeddingAndHeadIsHeldOnce) {
  TransformerSpec spec = both_ways({.pipeline = 4, .data = 1});
  spec.model.tied_embeddings = true;
  const WorkloadGraph graph = generate_transformer(spec);
  EXPECT_EQ(graph.program(3).parameter_count(), 2 * kLayer + kTable + 64);
  EXPECT_EQ(total_of(graph, "embedding.all_reduce").count, 0u);
}

// Of pairs of passes that run together, the last computation before `waiting` is of the other one.
std::size_t others_before(const WorkloadGraph& graph, const std::string& waiting) {
  const Program& nodes = graph.program(0);
  std::size_t count = 0;
  std::optional<std::uint16_t> last;
  for (std::uint32_t i = 0; i < nodes.node_count(); ++i) {
    const schema::Node::Reader node = nodes.node(i);
    if (node.getKind() != schema::NodeKind::COMPUTE) continue;
    const bool waits =
        graph.node_name(node) == waiting && node.getPhase() == schema::Phase::OVERLAPPED;
    if (waits && last && *last != node.getMicroBatch()) ++count;
    last = node.getMicroBatch();
  }
  return count;
}

TEST(BothWays, ExchangesOfTokensRunWhileTheOtherPassComputes) {
  TransformerSpec spec = both_ways({.pipeline = 2, .data = 4, .expert = 4});
  spec.model.moe = {.experts = 8, .top_k = 2, .ffn = 96};
  const WorkloadGraph graph = generate_transformer(spec);
  // Four micro-batches each way on two stages: five pairs, of two layers a chunk.
  for (const char* name : {"expert_in", "unpermute", "expert_out.dx", "permute.backward"}) {
    EXPECT_EQ(others_before(graph, name), 10u) << name;
  }
  EXPECT_TRUE(find_unmatched(graph).empty());
}

TEST(BothWays, PhasesTellPassesApartThatRunAlone) {
  const WorkloadGraph graph = generate_transformer(both_ways({.pipeline = 4, .data = 1}));
  const auto count = [&](schema::Phase phase, const char* name) {
    std::size_t found = 0;
    const Program& nodes = graph.program(0);
    for (std::uint32_t i = 0; i < nodes.node_count(); ++i) {
      const schema::Node::Reader node = nodes.node(i);
      if (node.getPhase() == phase && graph.node_name(node) == name) ++found;
    }
    return found;
  };
  // F0 F1 F2 F4 I4 W4 F5 F3+B5 F6+B0 B6 F7+B1 B7 I2 W2 I3 W3, a layer each
  EXPECT_EQ(count(schema::Phase::FORWARD, "ffn_in"), 5u);
  EXPECT_EQ(count(schema::Phase::OVERLAPPED, "ffn_in"), 3u);
  EXPECT_EQ(count(schema::Phase::OVERLAPPED, "ffn_in.dw"), 3u);
  EXPECT_EQ(count(schema::Phase::BACKWARD, "ffn_in.dx"), 5u);
  EXPECT_EQ(count(schema::Phase::BACKWARD, "ffn_in.dw"), 2u);
  EXPECT_EQ(count(schema::Phase::WEIGHTS, "ffn_in.dw"), 3u);
}

// A gradient is written by the first micro-batch of its chunk, and added to by the others.
TEST(BothWays, EachChunkHasAFirstAndALastMicroBatch) {
  TransformerSpec spec = both_ways({.pipeline = 4, .data = 2});
  spec.kernels.accumulation = Accumulation::kSeparate;
  const WorkloadGraph graph = generate_transformer(spec);
  std::size_t first = 0;
  std::size_t later = 0;
  const Program& nodes = graph.program(1);
  for (std::uint32_t i = 0; i < nodes.node_count(); ++i) {
    if (graph.node_name(nodes.node(i)) != "accumulate") continue;
    (nodes.node(i).getFlops() == 0 ? first : later) += 1;
  }
  EXPECT_EQ(first, 2u);
  EXPECT_EQ(later, 6u);
  EXPECT_EQ(total_of(graph, "gradient.reduce_scatter", 1).bytes, 2 * 4 * kLayer);
}

TEST(PassesTogether, ExchangesOf1F1BRunWhileTheOtherPassComputes) {
  TransformerSpec spec = both_ways({.pipeline = 2, .data = 4, .expert = 4});
  spec.model.moe = {.experts = 8, .top_k = 2, .ffn = 96};
  spec.schedule.kind = ScheduleKind::k1F1B;
  spec.overlap.experts = true;
  const WorkloadGraph graph = generate_transformer(spec);
  // F0 F1 F2 F3+B0 F4+B1 ... F7+B4 B5 B6 B7, of two layers a stage
  for (const char* name : {"expert_in", "unpermute", "expert_out.dx", "permute.backward"}) {
    EXPECT_EQ(others_before(graph, name), 10u) << name;
  }
  EXPECT_TRUE(find_unmatched(graph).empty());
}

class RefusedBothWays : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedBothWays, NamesTheKeyAndWhatWasExpected) {
  expect_refused(both_ways({.pipeline = 4, .data = 1}), GetParam());
}

const Refusal kRefusalsBothWays[] = {
    {"OddStages", [](TransformerSpec& s) { s.parallel.pipeline = 3; },
     "parallel.pipeline: 3 with schedule.kind dualpipe; expected an even number"},
    {"FewMicroBatches", [](TransformerSpec& s) { s.global_batch_sequences = 12; },
     "global_batch_sequences: makes 6 micro-batches a step with schedule.kind dualpipe; expected "
     "an even number of at least twice parallel.pipeline, 8"},
    {"OddMicroBatches", [](TransformerSpec& s) { s.global_batch_sequences = 18; },
     "global_batch_sequences: makes 9 micro-batches a step with schedule.kind dualpipe; expected "
     "an even number of at least twice parallel.pipeline, 8"},
    {"Interleaved", [](TransformerSpec& s) { s.schedule.virtual_stages = 2, s.model.layers = 8; },
     "schedule.virtual_stages: 2 with schedule.kind dualpipe; expected 1"},
    {"TogetherInAnotherSchedule",
     [](TransformerSpec& s) {
       s.overlap.experts = true;
       s.schedule.kind = ScheduleKind::kZeroH1;
     },
     "overlap.experts: true with schedule.kind zb_h1; expected 1f1b or dualpipe"},
    {"Zero3", [](TransformerSpec& s) { s.parallel.sharding = Sharding::kZero3; },
     "parallel.sharding: zero3 with schedule.kind dualpipe; expected none, zero1 or zero2"},
};

INSTANTIATE_TEST_SUITE_P(Transformer, RefusedBothWays, testing::ValuesIn(kRefusalsBothWays),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace exawarp::tests
