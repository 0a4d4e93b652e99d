// Pipeline schedules against orders written out by hand, and against the bubble's formula.
#include "model/generate/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>

namespace exawarp::tests {
namespace {

using namespace model;

std::string show(const std::vector<Slot>& slots, bool with_chunk) {
  std::string text;
  bool together = false;
  for (const Slot& slot : slots) {
    const char* const name = slot.pass == Pass::forward                        ? "F"
                             : slot.pass == Pass::weight_gradient              ? "W"
                             : slot.pass == Pass::input_gradient && with_chunk ? "I"
                                                                               : "B";
    text += (text.empty() ? ""
             : together   ? "+"
                          : " ") +
            std::string(name) + std::to_string(slot.micro_batch);
    if (with_chunk) text += "." + std::to_string(slot.chunk);
    together = slot.with_next;
  }
  return text;
}

std::vector<Slot> schedule_1f1b(const PipelineShape& shape, std::uint32_t stage) {
  return slots_of(ScheduleKind::k1F1B, shape, stage);
}

// Ticks that a chunk's pass takes.
struct Ticks {
  int forward = 1, backward = 2, input = 1, weight = 1;
  [[nodiscard]] int of(Pass pass) const {
    switch (pass) {
      case Pass::forward:
        return forward;
      case Pass::backward:
        return backward;
      case Pass::input_gradient:
        return input;
      case Pass::weight_gradient:
        return weight;
    }
    return 0;
  }
};

// Ticks until all stages are done.
int run(ScheduleKind kind, const PipelineShape& shape, const Ticks& ticks = {}) {
  std::vector<std::vector<Slot>> slots;
  for (std::uint32_t r = 0; r < shape.stages; ++r) slots.push_back(slots_of(kind, shape, r));
  std::vector<std::size_t> next(shape.stages);
  std::vector<int> clock(shape.stages);
  // 0: forward, 1: gradient of the input; by chunk of the model and micro-batch.
  std::map<std::tuple<int, std::uint32_t, std::uint32_t>, int> done;
  const std::uint32_t chunks = shape.stages * shape.chunks;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t r = 0; r < shape.stages; ++r) {
      if (next[r] == slots[r].size()) continue;
      const Slot slot = slots[r][next[r]];
      const std::uint32_t chunk = slot.chunk * shape.stages + r;
      const bool is_forward = slot.pass == Pass::forward;
      const bool is_weight = slot.pass == Pass::weight_gradient;
      const bool starts = is_forward && chunk == 0;
      const bool turns = !is_forward && !is_weight && chunk + 1 == chunks;
      const std::uint32_t before = is_forward ? chunk - 1 : turns || is_weight ? chunk : chunk + 1;
      const auto input = done.find({is_forward || turns ? 0 : 1, before, slot.micro_batch});
      if (!starts && input == done.end()) continue;
      clock[r] = std::max(clock[r], starts ? 0 : input->second) + ticks.of(slot.pass);
      if (!is_weight) done[{is_forward ? 0 : 1, chunk, slot.micro_batch}] = clock[r];
      ++next[r];
      moved = true;
    }
  }
  EXPECT_EQ(done.size(), std::size_t{2} * chunks * shape.micro_batches) << "the schedule is stuck";
  return *std::max_element(clock.begin(), clock.end());
}

// Micro-batches that a stage has begun and not finished, at most.
int in_flight(const std::vector<Slot>& slots) {
  int now = 0;
  int most = 0;
  for (const Slot& slot : slots) {
    if (slot.pass == Pass::forward) most = std::max(most, ++now);
    if (slot.pass == Pass::backward || slot.pass == Pass::weight_gradient) --now;
  }
  EXPECT_EQ(now, 0);
  return most;
}

TEST(Schedule, OneForwardOneBackwardAfterWarmUp) {
  const PipelineShape shape{.stages = 4, .chunks = 1, .micro_batches = 6};
  EXPECT_EQ(show(schedule_1f1b(shape, 0), false), "F0 F1 F2 F3 B0 F4 B1 F5 B2 B3 B4 B5");
  EXPECT_EQ(show(schedule_1f1b(shape, 1), false), "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 B4 B5");
  EXPECT_EQ(show(schedule_1f1b(shape, 3), false), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5");
}

TEST(Schedule, WarmUpIsAtMostTheMicroBatches) {
  const PipelineShape shape{.stages = 8, .chunks = 1, .micro_batches = 2};
  EXPECT_EQ(show(schedule_1f1b(shape, 0), false), "F0 F1 B0 B1");
  EXPECT_EQ(show(schedule_1f1b(shape, 6), false), "F0 F1 B0 B1");
  EXPECT_EQ(show(schedule_1f1b(shape, 7), false), "F0 B0 F1 B1");
}

TEST(Schedule, InterleavedIsMegatronsOrder) {
  const PipelineShape shape{.stages = 2, .chunks = 2, .micro_batches = 4};
  EXPECT_EQ(show(schedule_1f1b(shape, 0), true),
            "F0.0 F1.0 F0.1 F1.1 F2.0 B0.1 F3.0 B1.1 F2.1 B0.0 F3.1 B1.0 B2.1 B3.1 B2.0 B3.0");
  EXPECT_EQ(show(schedule_1f1b(shape, 1), true),
            "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 F2.0 B0.0 F3.0 B1.0 F2.1 B2.1 F3.1 B3.1 B2.0 B3.0");
}

TEST(Schedule, StepTimeEqualsTheFormula) {
  for (const std::uint32_t p : {1u, 2u, 3u, 4u, 8u}) {
    for (const std::uint32_t v : {1u, 2u, 3u}) {
      for (const std::uint32_t groups : {1u, 2u, 5u}) {
        if (p == 1 && v > 1) continue;
        const std::uint32_t m = p * groups;
        SCOPED_TRACE(testing::Message() << "p " << p << " v " << v << " m " << m);
        // (m + (p - 1)/v)(t_f + t_b), a stage's t_f = v and t_b = 2 v.
        EXPECT_EQ(run(ScheduleKind::k1F1B, {p, v, m}), static_cast<int>(3 * (m * v + p - 1)));
      }
    }
  }
}

TEST(Schedule, GpipeRunsAllForwardsFirstAndTakesAsLongAs1F1B) {
  const PipelineShape shape{.stages = 3, .chunks = 1, .micro_batches = 4};
  EXPECT_EQ(show(slots_of(ScheduleKind::kGpipe, shape, 1), false), "F0 F1 F2 F3 B0 B1 B2 B3");
  EXPECT_EQ(run(ScheduleKind::kGpipe, shape), run(ScheduleKind::k1F1B, shape));
  EXPECT_EQ(in_flight(slots_of(ScheduleKind::kGpipe, shape, 1)), 4);
  EXPECT_EQ(in_flight(slots_of(ScheduleKind::k1F1B, shape, 1)), 2);
}

TEST(Schedule, ZeroBubblePutsWeightGradientsOffByTheStage) {
  const PipelineShape shape{.stages = 3, .chunks = 1, .micro_batches = 4};
  EXPECT_EQ(show(slots_of(ScheduleKind::kZeroH1, shape, 0), false),
            "F0 F1 F2 B0 W0 F3 B1 W1 B2 W2 B3 W3");
  EXPECT_EQ(show(slots_of(ScheduleKind::kZeroH1, shape, 2), false),
            "F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3");
}

// Qi et al., ICLR 2024, table 2: idle (p - 1)(F + B - W), activations as 1F1B's first stage.
TEST(Schedule, ZeroBubbleTimeAndMemoryEqualTheFormulas) {
  for (const Ticks& ticks : {Ticks{}, Ticks{.forward = 10, .input = 11, .weight = 9}}) {
    for (const std::uint32_t p : {1u, 2u, 4u, 8u}) {
      const PipelineShape shape{.stages = p, .chunks = 1, .micro_batches = 2 * p};
      const int each = ticks.forward + ticks.input + ticks.weight;
      EXPECT_EQ(run(ScheduleKind::kZeroH1, shape, ticks),
                static_cast<int>(2 * p) * each +
                    static_cast<int>(p - 1) * (ticks.forward + ticks.input - ticks.weight));
      for (std::uint32_t r = 0; r < p; ++r) {
        EXPECT_EQ(in_flight(slots_of(ScheduleKind::kZeroH1, shape, r)), static_cast<int>(p));
      }
    }
  }
}

// arXiv:2412.19437, figure 5, on four stages: what the authors' program does.
TEST(Schedule, DualPipeMeetsInTheMiddle) {
  const PipelineShape shape{.stages = 4, .chunks = 2, .micro_batches = 8};
  const auto of = [&](std::uint32_t stage) {
    return show(slots_of(ScheduleKind::kDualPipe, shape, stage), true);
  };
  EXPECT_EQ(of(0),
            "F0.0 F1.0 F2.0 F4.1 I4.1 W4.1 F5.1 F3.0+B5.1 F6.1+B0.0 B6.1 F7.1+B1.0 B7.1 I2.0 "
            "W2.0 I3.0 W3.0");
  EXPECT_EQ(of(2),
            "F4.0 F0.1 F5.0 F1.1 F6.0 B0.1 F2.1+B4.0 F7.0+B1.1 F3.1+B5.0 B2.1 B6.0 I3.1 I7.0 W3.1 "
            "W7.0");
}

TEST(Schedule, DualPipesStagesAreMirrorImages) {
  const PipelineShape shape{.stages = 6, .chunks = 2, .micro_batches = 14};
  for (std::uint32_t stage = 0; stage < 3; ++stage) {
    const auto first = slots_of(ScheduleKind::kDualPipe, shape, stage);
    const auto second = slots_of(ScheduleKind::kDualPipe, shape, 5 - stage);
    ASSERT_EQ(first.size(), second.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_EQ(first[i].pass, second[i].pass);
      EXPECT_EQ(first[i].chunk, second[i].chunk);
      EXPECT_EQ(first[i].with_next, second[i].with_next);
      EXPECT_EQ((first[i].micro_batch + 7) % 14, second[i].micro_batch);
      EXPECT_EQ(model_chunk_of(ScheduleKind::kDualPipe, shape, stage, first[i].chunk),
                model_chunk_of(ScheduleKind::kDualPipe, shape, 5 - stage, first[i].chunk));
    }
  }
}

// Activations of p + 1 micro-batches at most.
TEST(Schedule, DualPipeHoldsOneMicroBatchMoreThanStages) {
  for (const std::uint32_t p : {2u, 4u, 8u, 16u}) {
    const PipelineShape shape{.stages = p, .chunks = 2, .micro_batches = 4 * p};
    int most = 0;
    for (std::uint32_t r = 0; r < p; ++r) {
      most = std::max(most, in_flight(slots_of(ScheduleKind::kDualPipe, shape, r)));
    }
    EXPECT_EQ(most, static_cast<int>(p + 1));
  }
}

TEST(LayerSplit, LastThenFirstChunkGetFewer) {
  const auto split = [](LayerSplit s) { return layers_of_chunks(s); };
  EXPECT_EQ(split({.layers = 8, .chunks = 4}), (std::vector<std::uint32_t>{2, 2, 2, 2}));
  EXPECT_EQ(split({.layers = 7, .chunks = 4}), (std::vector<std::uint32_t>{2, 2, 2, 1}));
  EXPECT_EQ(split({.layers = 6, .chunks = 4}), (std::vector<std::uint32_t>{1, 2, 2, 1}));
  EXPECT_EQ(split({.layers = 5, .chunks = 4}), (std::vector<std::uint32_t>{1, 1, 2, 1}));
}

TEST(LayerSplit, Llama405bIsSplitAsItWasTrained) {
  std::vector<std::uint32_t> expected(16, 8);
  expected.front() = expected.back() = 7;
  EXPECT_EQ(layers_of_chunks({.layers = 126, .chunks = 16}), expected);
}

// MLPerf's Llama 3.1 405B: embedding and loss as positions of their own, 128 over 64 chunks.
TEST(LayerSplit, FirstAndLastOfManyChunksHaveRoomForEmbeddingAndLoss) {
  std::vector<std::uint32_t> expected(64, 2);
  expected.front() = expected.back() = 1;
  EXPECT_EQ(layers_of_chunks({.layers = 126, .chunks = 64}), expected);
}

TEST(LayerSplit, CountedEndsTakeThePlaceOfALayer) {
  std::vector<std::uint32_t> ones(128, 1);  // Llama 3 405B on 16 stages of eight chunks
  ones.front() = ones.back() = 0;
  EXPECT_EQ(layers_of_chunks({.layers = 126, .chunks = 128, .ends = true}), ones);
  std::vector<std::uint32_t> twos(64, 2);
  twos.front() = twos.back() = 1;
  EXPECT_EQ(layers_of_chunks({.layers = 126, .chunks = 64, .ends = true}), twos);
  EXPECT_EQ(layers_of_chunks({.layers = 8, .chunks = 4, .ends = true}),
            (std::vector<std::uint32_t>{1, 3, 3, 1}));
}

TEST(LayerSplit, GivenFirstAndLastAreKept) {
  EXPECT_EQ(layers_of_chunks({.layers = 10, .chunks = 4, .first = 1, .last = 2}),
            (std::vector<std::uint32_t>{1, 3, 4, 2}));
}

TEST(LayerSplit, AddsUpWhateverTheSizes) {
  for (std::uint32_t chunks = 1; chunks < 12; ++chunks) {
    for (std::uint32_t layers = chunks; layers < 40; ++layers) {
      const std::vector<std::uint32_t> split =
          layers_of_chunks({.layers = layers, .chunks = chunks});
      EXPECT_EQ(std::accumulate(split.begin(), split.end(), 0u), layers);
      const auto [least, most] = std::minmax_element(split.begin(), split.end());
      EXPECT_LE(*most - *least, 1u);
      EXPECT_GE(*least, 1u);
    }
  }
}

}  // namespace
}  // namespace exawarp::tests
