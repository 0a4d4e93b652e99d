// Properties of workloads over random inputs. A failure prints the seed that replays it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>

#include "core/error.h"
#include "core/random.h"
#include "model/generate/transformer.h"
#include "model/workload/validate.h"
#include "tests/fuzz/read_workload.h"
#include "tests/support/seeds.h"
#include "tests/support/workload_builders.h"

namespace exawarp::tests {
namespace {

using namespace model;

TEST(WorkloadProperty, EveryGeneratedWorkloadIsValidAndMatches) {
  for (const std::uint64_t seed : case_seeds(1, 150)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const WorkloadGraph graph = generate_transformer(random_transformer(seed));  // validates
    EXPECT_EQ(find_unmatched(graph), std::vector<std::string>{});
    fuzz::read_workload(graph);
  }
}

TEST(WorkloadProperty, MemoryIsKnownBeforeAnythingIsGenerated) {
  for (const std::uint64_t seed : case_seeds(1, 150)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const TransformerSpec spec = random_transformer(seed);
    const WorkloadGraph graph = generate_transformer(spec);
    const std::vector<NamedMemory> needs = memory_of_programs(spec);
    ASSERT_EQ(needs.size(), graph.program_count());
    for (std::uint32_t p = 0; p < graph.program_count(); ++p) {
      const Program& program = graph.program(p);
      EXPECT_EQ(needs[p].program, program.name());
      ASSERT_TRUE(program.memory());
      EXPECT_EQ(needs[p].memory.weights, program.memory()->weights);
      EXPECT_EQ(needs[p].memory.gradients, program.memory()->gradients);
      EXPECT_EQ(needs[p].memory.optimizer, program.memory()->optimizer);
      EXPECT_EQ(needs[p].memory.largest().bytes, program.memory()->largest().bytes);
    }
  }
}

// One device of each stage, at one place in the other axes: runs their programs with nodes taking
// no time, collectives being done at once and messages matched in posted order. Returns how many
// nodes are left when nothing moves; messages of one micro-batch must meet receives of the same.
std::uint64_t nodes_left(const WorkloadGraph& graph) {
  using Channel = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // from, to, tag
  std::map<Channel, std::deque<std::uint16_t>> in_flight;
  std::vector<std::vector<std::uint32_t>> cursor(graph.program_count());
  for (std::uint32_t p = 0; p < graph.program_count(); ++p) {
    cursor[p].resize(graph.program(p).stream_count());
  }
  const auto step = [&](std::uint32_t p, std::uint32_t stream) {
    const Program& program = graph.program(p);
    if (cursor[p][stream] == program.stream_length(stream)) return false;
    const auto node = program.node(program.node_at(stream, cursor[p][stream]));
    for (std::uint32_t d = 0; d < node.getDependencyCount(); ++d) {
      const auto on = program.node(program.dependency(node, d));
      if (cursor[p][on.getStream()] <= on.getPosition()) return false;
    }
    const std::uint32_t peer = p + static_cast<std::uint32_t>(node.getPeer());
    if (node.getKind() == schema::NodeKind::SEND) {
      in_flight[{p, peer, node.getTag()}].push_back(node.getMicroBatch());
    } else if (node.getKind() == schema::NodeKind::RECEIVE) {
      std::deque<std::uint16_t>& arrived = in_flight[{peer, p, node.getTag()}];
      if (arrived.empty()) return false;
      EXPECT_EQ(arrived.front(), node.getMicroBatch());
      arrived.pop_front();
    }
    ++cursor[p][stream];
    return true;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t p = 0; p < graph.program_count(); ++p) {
      for (std::uint32_t s = 0; s < cursor[p].size(); ++s) {
        while (step(p, s)) moved = true;
      }
    }
  }
  std::uint64_t left = 0;
  for (std::uint32_t p = 0; p < graph.program_count(); ++p) {
    for (std::uint32_t s = 0; s < cursor[p].size(); ++s) {
      left += graph.program(p).stream_length(s) - cursor[p][s];
    }
  }
  return left;
}

// The same model, its micro-batches coming in at both ends of a pipeline.
TransformerSpec random_both_ways(std::uint64_t seed) {
  TransformerSpec spec = random_transformer(seed);
  spec.schedule = {.kind = ScheduleKind::kDualPipe};
  spec.parallel.pipeline += spec.parallel.pipeline % 2;
  if (spec.parallel.sharding == Sharding::kZero3) spec.parallel.sharding = Sharding::kZero2;
  spec.model.layers = std::max(spec.model.layers, spec.parallel.pipeline);
  std::string& pattern = spec.model.pattern;
  if (!pattern.empty()) pattern.resize(static_cast<std::size_t>(spec.model.layers), '*');
  const auto more = static_cast<std::int64_t>(core::random_bits(seed, 1000) % 4);
  spec.global_batch_sequences =
      (spec.parallel.pipeline + more) * 2 * spec.parallel.data * spec.micro_batch_sequences;
  return spec;
}

TEST(WorkloadProperty, EveryPipelineOfBothWaysIsValidAndRunsToItsEnd) {
  for (const std::uint64_t seed : case_seeds(1, 100)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const WorkloadGraph graph = generate_transformer(random_both_ways(seed));  // validates
    EXPECT_EQ(find_unmatched(graph), std::vector<std::string>{});
    EXPECT_EQ(nodes_left(graph), 0u);
  }
}

TEST(WorkloadProperty, EveryGeneratedPipelineRunsToItsEnd) {
  for (const std::uint64_t seed : case_seeds(1, 150)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    EXPECT_EQ(nodes_left(generate_transformer(random_transformer(seed))), 0u);
  }
}

TEST(WorkloadProperty, ModelFlopsDoNotDependOnTheParallelism) {
  for (const std::uint64_t seed : case_seeds(1, 100)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    TransformerSpec spec = random_transformer(seed);
    spec.steps = 1;
    const double split = generate_transformer(spec).training().getModelFlopsPerStep();
    spec.parallel = {};
    spec.schedule = {};
    const double whole = generate_transformer(spec).training().getModelFlopsPerStep();
    EXPECT_DOUBLE_EQ(split, whole);
  }
}

TEST(WorkloadProperty, FlippedBitsAreRefusedOrHarmless) {
  TransformerSpec spec = tests::tiny_gpt();
  spec.model.layers = 2;
  spec.parallel = {.tensor = 2, .pipeline = 2, .data = 2};
  spec.global_batch_sequences = 4;
  const std::string path = temporary_path("flipped.xwg");
  generate_transformer(spec).write(path);
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  const std::string whole = text.str();
  // Pointers and tables are few beside the nodes' data, so half of the flips aim at the head.
  const char* const asked = std::getenv("EXAWARP_BIT_FLIPS");  // for a longer search by hand
  const std::uint64_t flips_max = asked == nullptr ? 400 : std::strtoull(asked, nullptr, 10);
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 0; seed < flips_max; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::string bytes = whole;
    const std::uint64_t flips = 1 + core::random_bits(seed, 0) % 4;
    for (std::uint64_t i = 0; i < flips; ++i) {
      const std::uint64_t draw = core::random_bits(seed, 1 + i);
      const std::size_t limit = (seed & 1) != 0 ? whole.size() : std::size_t{1024};
      bytes[(draw >> 3) % limit] ^= static_cast<char>(1 << (draw & 7));
    }
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    try {
      WorkloadGraph graph = WorkloadGraph::open(path);
      validate(graph);
      fuzz::read_workload(graph);
    } catch (const core::InputError& error) {
      EXPECT_EQ(std::string(error.what()).rfind(path, 0), 0u) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, flips_max / 10);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace exawarp::tests
