// Layers in groups with blocks of their own: what lies behind a window is given back.
#include <gtest/gtest.h>

#include <vector>

#include "core/error.h"
#include "model/serving/kv_room.h"
#include "tests/unit/model/serving/small_iterations.h"
#include "tests/unit/model/serving/v1_runs.h"

namespace exawarp::tests {
namespace {

using namespace model::serving;
using namespace v1;

// A block is 4 tokens. Of 48 the last is not computed: 12 blocks; through a window of 8 tokens the
// last three are seen.
TEST(CacheGroups, GiveBackWhatIsBehindTheirWindow) {
  Spec spec = small({at(0_ps, 8, 40)});
  EXPECT_EQ(run(spec).held_most, 12u);
  spec.groups = {.full = 2, .windowed = 0};
  EXPECT_EQ(run(spec).held_most, 24u);
  spec.groups = {.full = 1, .windowed = 1, .window = 8};
  EXPECT_EQ(run(spec).held_most, 12u + 3);
  spec.groups = {.full = 2, .windowed = 5, .window = 8};
  EXPECT_EQ(run(spec).held_most, 2u * 12 + 5 * 3);
  spec.groups = {.full = 0, .windowed = 1, .window = 48};
  EXPECT_EQ(run(spec).held_most, 12u);
  spec.groups.window = 1;  // each token sees itself alone
  EXPECT_EQ(run(spec).held_most, 2u) << "of the prompt";
}

// A batch computes 8 tokens of a prompt, the first of which looks 7 back: four blocks, and those of
// one more batch.
TEST(CacheGroups, OfAPromptHoldAWindowAndABatch) {
  Spec spec = small({at(0_ps, 48, 1)});
  spec.batch_tokens_max = 8;
  spec.groups = {.full = 0, .windowed = 1, .window = 8};
  EXPECT_EQ(run(spec).held_most, 4u);
  spec.groups = {.full = 1, .windowed = 1, .window = 8};
  EXPECT_EQ(run(spec).held_most, 12u + 4);
}

TEST(CacheGroups, LetMoreRequestsInAtOnce) {
  std::vector<Request> requests(4, at(0_ps, 32, 8));
  Spec spec = small(requests);
  spec.request_tokens_max = 40;
  spec.blocks = 60;
  spec.groups = {.full = 2, .windowed = 0};
  const Ran all = run(spec);  // three of 10 blocks for each group
  spec.groups = {.full = 1, .windowed = 1, .window = 4};
  const Ran windowed = run(spec);
  EXPECT_GT(all.first_token(3), 8) << "others were answered first";
  EXPECT_LT(windowed.first_token(3), 5) << "their prompts are behind them";
}

// Request 0 leaves six blocks, the first two of which it gave back on its way: they are forgotten
// first, then the sixth, fifth and so on. Request 1, of `blocks` of its own, takes the four that
// are blank, and of those as many as it lacks. Request 2 begins as 0 does.
std::uint64_t found_after(std::uint32_t blocks) {
  Spec spec = small({at(0_ps, 24, 1), at(1_s, 4 * blocks, 1), at(2_s, 28, 1)});
  spec.prefixes.of = {{.session = 0}, {.session = 1}, {.session = 0}};
  spec.prefix_cache = true;
  spec.batch_tokens_max = 8;
  spec.blocks = 10;
  spec.groups = {.full = 0, .windowed = 1, .window = 8};
  return run(spec).found;
}

TEST(CacheGroups, FindTheLastWindowThatIsWhole) {
  EXPECT_EQ(found_after(4), 24u);
  EXPECT_EQ(found_after(6), 24u) << "the first two are not seen";
  EXPECT_EQ(found_after(7), 20u) << "from the fifth block on, the fourth and fifth are seen";
  EXPECT_EQ(found_after(8), 16u);
  EXPECT_EQ(found_after(9), 0u) << "the third is there, and the second is not";
}

// As above, but the blocks of layers that see all are forgotten before those of the window's end.
TEST(CacheGroups, WantABeginningOfTheOthersAsWell) {
  Spec spec = small({at(0_ps, 24, 1), at(1_s, 8, 1), at(2_s, 28, 1)});
  spec.prefixes.of = {{.session = 0}, {.session = 1}, {.session = 0}};
  spec.prefix_cache = true;
  spec.batch_tokens_max = 8;
  spec.groups = {.full = 1, .windowed = 1, .window = 8};
  spec.request_tokens_max = 29;
  spec.blocks = 14;  // request 0 leaves 12, request 1 takes 4
  Ran ran = run(spec);
  EXPECT_EQ(ran.found, 24u) << "two of the window's were forgotten";
  spec.requests[1].prefill = 12;
  ran = run(spec);
  EXPECT_EQ(ran.found, 16u) << "and the last two of the others";
}

TEST(CacheGroups, AreForOneEngineAndForWhatStays) {
  Spec spec = small({at(0_ps, 8, 4)});
  spec.groups = {.full = 1, .windowed = 1, .window = 8};
  spec.policy = Policy::sarathi;
  EXPECT_THROW(check(spec), core::InputError);
  spec.policy = Policy::vllm_v1;
  spec.preemption = Preemption::swap;
  spec.swap.host_blocks = 1;
  EXPECT_THROW(check(spec), core::InputError);
  spec.preemption = Preemption::recompute;
  EXPECT_NO_THROW(check(spec));
  spec.groups.window = 0;
  EXPECT_THROW(check(spec), core::InputError);
}

model::ModelSpec of_layers(std::int64_t layers, std::int64_t full_every) {
  model::ModelSpec m = small_iteration(1).model;
  m.layers = layers;
  m.window = 128;
  m.full_attention_every = full_every;
  return m;
}

TEST(GroupedLayers, AreAsManyAsOfTheRarerKind) {
  model::ModelSpec m = of_layers(36, 2);
  GroupedLayers grouped = grouped_layers(m);
  EXPECT_EQ(grouped.groups, (CacheGroups{.full = 1, .windowed = 1, .window = 128}));
  EXPECT_EQ(grouped.layers, 18u);
  grouped = grouped_layers(of_layers(62, 6));  // ten that see all, 52 that do not
  EXPECT_EQ(grouped.groups, (CacheGroups{.full = 1, .windowed = 6, .window = 128}));
  EXPECT_EQ(grouped.layers, 10u);
  grouped = grouped_layers(of_layers(11, 2));  // 5 and 6
  EXPECT_EQ(grouped.groups, (CacheGroups{.full = 1, .windowed = 1, .window = 128}));
  EXPECT_EQ(grouped.layers, 6u);
  grouped = grouped_layers(of_layers(9, 2));  // 4 and 5, a quarter more
  EXPECT_EQ(grouped.groups, (CacheGroups{.full = 1, .windowed = 2, .window = 128}));
  m.full_attention_every = 0;
  EXPECT_EQ(grouped_layers(m).groups, (CacheGroups{.full = 0, .windowed = 1, .window = 128}));
  m.window = 0;
  EXPECT_EQ(grouped_layers(m).groups, CacheGroups{});
  EXPECT_EQ(grouped_layers(m).layers, 36u);
}

TEST(GroupedLayers, HaveRoomForMoreTokensTheFewerTheyAre) {
  IterationSpec spec = small_iteration(1);
  spec.model = of_layers(12, 4);
  model::Accelerator accelerator = round_accelerator();
  accelerator.memory_bytes = 10'000'000'000;
  const std::uint64_t all = room_for_tokens(spec, accelerator);
  const std::uint64_t of_three = room_for_tokens(spec, accelerator, {.layers = 3});
  EXPECT_GE(of_three, 4 * all);
  EXPECT_LT(of_three, 4 * (all + 1));
}

}  // namespace
}  // namespace exawarp::tests
