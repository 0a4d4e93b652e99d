// Pipeline schedules for any number of stages and micro-batches: none is stuck, passes of a
// micro-batch come in order, and stages are idle as long as the formulas of docs/guide/training.md
// say.
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "core/random.h"
#include "model/generate/schedule.h"
#include "model/generate/transformer.h"
#include "model/workload/ideal_schedule.h"
#include "model/workload/validate.h"
#include "tests/support/seeds.h"
#include "tests/support/workload_builders.h"

namespace exawarp::tests {
namespace {

using namespace model;

struct Drawn {
  ScheduleKind kind = ScheduleKind::kGpipe;
  std::uint32_t stages = 1, chunks = 1, micro_batches = 1;
  std::uint64_t layers_of_chunk = 1;
};

// A schedule of the kind with sizes that it takes.
Drawn draw(ScheduleKind kind, bool interleaved, std::uint64_t seed) {
  std::uint64_t draws = 0;
  const auto below = [&](std::uint32_t limit) {
    return static_cast<std::uint32_t>(core::random_bits(seed, draws++) % limit);
  };
  Drawn drawn{.kind = kind, .stages = 1 + below(8)};
  drawn.micro_batches = 1 + below(20);
  drawn.layers_of_chunk = 1 + below(3);
  if (kind == ScheduleKind::kZeroH1) drawn.micro_batches += drawn.stages;
  if (kind == ScheduleKind::kDualPipe) {
    drawn.stages += drawn.stages % 2;
    drawn.micro_batches = 2 * drawn.stages + 2 * below(8);
  }
  if (interleaved) {
    drawn.stages += 1;
    drawn.chunks = 2 + below(3);
    drawn.micro_batches = drawn.stages * (1 + below(3));
  }
  return drawn;
}

// Idle time of a stage where a layer's forward pass, the gradient of its input and that of its
// weights take one unit of time each.
std::uint64_t idle_of(const Drawn& d) {
  switch (d.kind) {
    case ScheduleKind::kGpipe:
    case ScheduleKind::k1F1B:
      return (d.stages - 1) * 3 * d.layers_of_chunk;
    case ScheduleKind::kZeroH1:
      return (d.stages - 1) * d.layers_of_chunk;
    case ScheduleKind::kDualPipe:
      return (d.stages / 2 - 1) * 2 * d.layers_of_chunk;
  }
  return 0;
}

WorkloadGraph workload_of(const Drawn& d, bool together = false) {
  TransformerSpec spec = tests::tiny_llama();
  spec.parallel = {.pipeline = d.stages};
  spec.schedule.kind = d.kind;
  spec.schedule.virtual_stages = d.chunks;
  spec.overlap.experts = together;
  spec.model.layers = static_cast<std::int64_t>(d.layers_of_chunk * d.stages * d.chunks);
  spec.global_batch_sequences = d.micro_batches * spec.micro_batch_sequences;
  return generate_transformer(spec);
}

class EverySchedule : public testing::TestWithParam<std::pair<ScheduleKind, bool>> {};

TEST_P(EverySchedule, EndsAfterItsWorkAndTheIdleTimeOfItsFormula) {
  for (const std::uint64_t seed : case_seeds(1, 40)) {
    const Drawn d = draw(GetParam().first, GetParam().second, seed);
    SCOPED_TRACE(testing::Message()
                 << "seed " << seed << ": " << d.stages << " stages of " << d.chunks << " chunks, "
                 << d.micro_batches << " micro-batches");
    const WorkloadGraph graph = workload_of(d);
    EXPECT_TRUE(find_unmatched(graph).empty());
    const auto schedule = ideal_schedule(graph, [&](const Program& program, std::uint32_t node) {
      const std::string name = graph.node_name(program.node(node));
      return std::uint64_t{name == "ffn_in" || name == "ffn_in.dx" || name == "ffn_in.dw"};
    });
    ASSERT_TRUE(schedule.has_value());
    EXPECT_TRUE(schedule->finishes) << schedule->waiting;
    EXPECT_EQ(schedule->length, 3 * d.layers_of_chunk * d.chunks * d.micro_batches + idle_of(d));
  }
}

TEST_P(EverySchedule, EachStageHasForwardBeforeBackwardBeforeWeights) {
  for (const std::uint64_t seed : case_seeds(1, 200)) {
    const Drawn d = draw(GetParam().first, GetParam().second, seed);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const bool both_ways = d.kind == ScheduleKind::kDualPipe;
    const PipelineShape shape{d.stages, both_ways ? 2 : d.chunks, d.micro_batches};
    for (std::uint32_t stage = 0; stage < d.stages; ++stage) {
      // 0: nothing yet; 1: forward, 2: gradients of inputs, 3: all is over.
      std::map<std::pair<std::uint32_t, std::uint32_t>, int> state;  // by micro-batch and chunk
      for (const Slot& slot : slots_of(d.kind, shape, stage)) {
        int& at = state[{slot.micro_batch, slot.chunk}];
        const int before = slot.pass == Pass::forward           ? 0
                           : slot.pass == Pass::weight_gradient ? 2
                                                                : 1;
        EXPECT_EQ(at, before);
        at = slot.pass == Pass::backward ? 3 : before + 1;
      }
      EXPECT_EQ(state.size(), std::size_t{d.micro_batches} * d.chunks);
      for (const auto& [pass, at] : state) EXPECT_EQ(at, 3) << pass.first << " " << pass.second;
    }
  }
}

// With one forward pass more to warm up no pair waits for itself.
TEST(PassesTogether, EndAndAreOfDifferentMicroBatches) {
  for (const std::uint64_t seed : case_seeds(1, 40)) {
    const Drawn d = draw(ScheduleKind::k1F1B, seed % 2 == 0, seed);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const PipelineShape shape{d.stages, d.chunks, d.micro_batches, true};
    for (std::uint32_t stage = 0; stage < d.stages; ++stage) {
      const std::vector<Slot> slots = slots_of(d.kind, shape, stage);
      for (std::size_t i = 0; i < slots.size(); ++i) {
        if (!slots[i].with_next) continue;
        EXPECT_EQ(slots[i].pass, Pass::forward);
        EXPECT_EQ(slots[i + 1].pass, Pass::backward);
        EXPECT_FALSE(slots[i].micro_batch == slots[i + 1].micro_batch &&
                     slots[i].chunk == slots[i + 1].chunk);
      }
    }
    const WorkloadGraph graph = workload_of(d, true);
    EXPECT_TRUE(find_unmatched(graph).empty());
    const auto schedule = ideal_schedule(graph, [&](const Program& program, std::uint32_t node) {
      const std::string name = graph.node_name(program.node(node));
      return std::uint64_t{name == "ffn_in" || name == "ffn_in.dx" || name == "ffn_in.dw"};
    });
    EXPECT_TRUE(schedule->finishes) << schedule->waiting;
    // No more idle time than two forwards and backwards through all stages.
    EXPECT_LE(schedule->length,
              3 * d.layers_of_chunk * (d.chunks * d.micro_batches + 2 * d.stages));
  }
}

INSTANTIATE_TEST_SUITE_P(Property, EverySchedule,
                         testing::Values(std::pair{ScheduleKind::kGpipe, false},
                                         std::pair{ScheduleKind::k1F1B, false},
                                         std::pair{ScheduleKind::k1F1B, true},
                                         std::pair{ScheduleKind::kZeroH1, false},
                                         std::pair{ScheduleKind::kDualPipe, false}));

}  // namespace
}  // namespace exawarp::tests
