// How many tokens a replica has room for, and what a closed loop does where that is few.
#include "model/serving/kv_room.h"

#include <gtest/gtest.h>

#include "model/serving/closed_loop.h"
#include "tests/unit/model/serving/small_iterations.h"

namespace exawarp::tests {
namespace {

using namespace model::serving;
using core::Time;

constexpr std::uint32_t kPrompt = 512, kAnswer = 32;
constexpr std::uint64_t kRequest = kPrompt + kAnswer;

IterationSpec small_spec(std::int64_t tensor) {
  IterationSpec spec = small_iteration(tensor);
  spec.model.kv_heads = 4;
  return spec;
}

// 128 wide heads; 4 layers of 1024 x (2 x 1024 + 2 x 512) + 3 x 1024 x 2048 and two norms; the last
// norm; two tables of 512 x 1024.
TEST(KvRoom, IsWhatWeightsLeave) {
  IterationSpec spec = small_spec(1);
  const std::uint64_t layers = 4 * (1024 * 3072 + 3 * 1024 * 2048 + 2 * 1024) + 1024;
  const std::uint64_t tables = 2 * 512 * 1024;
  EXPECT_EQ(token_bytes_of(spec), 2u * 2u * 4u * 4u * 128u);
  EXPECT_EQ(weight_bytes_of(spec), 2 * (layers + tables));
  model::Accelerator accelerator = round_accelerator();
  accelerator.memory_bytes = 1'000'000'000;
  const MemoryRule rule{.share = 0.5, .share_of_rest = 0.5, .workspace_bytes = 100'000'000};
  EXPECT_EQ(room_for_tokens(spec, accelerator, rule),
            (400'000'000 - 2 * (layers + tables)) / 2 / (2 * 2 * 4 * 4 * 128));
  spec.precision = model::schema::DataType::FP8;
  spec.cache_precision = model::schema::DataType::FP8;
  EXPECT_EQ(token_bytes_of(spec), 2u * 4u * 4u * 128u);
  EXPECT_EQ(weight_bytes_of(spec), layers + 2 * tables);
  accelerator.memory_bytes = 1'000'000;
  EXPECT_EQ(room_for_tokens(spec, accelerator, rule), 0u);
}

// Keys and values, and weights, are split; groups have all weights but experts' and tables.
TEST(KvRoom, OfSeveralDevices) {
  IterationSpec spec = small_spec(4);
  EXPECT_EQ(token_bytes_of(spec), token_bytes_of(small_spec(1)) / 4);
  EXPECT_EQ(weight_bytes_of(spec), weight_bytes_of(small_spec(1)) / 4);
  spec.attention_data = 4;
  EXPECT_EQ(token_bytes_of(spec), token_bytes_of(small_spec(1)));
  model::Accelerator accelerator = round_accelerator();
  accelerator.memory_bytes = 10'000'000'000;
  EXPECT_GE(room_for_tokens(spec, accelerator),
            4 * room_for_tokens(small_spec(1), accelerator));
}

class PoolsThatEnd : public testing::Test {
 protected:
  [[nodiscard]] ClosedLoopOutcome run(std::uint32_t clients, std::uint64_t pool_tokens,
                                      bool reserves) const {
    return run_closed_loop({.clients = clients,
                            .requests = 2 * clients,
                            .prompt_most = kPrompt,
                            .output_most = kAnswer,
                            .pool_tokens = pool_tokens,
                            .reserves_answers = reserves},
                           time);
  }
  const IterationTime time = without_launches(small_spec(1));
};

TEST_F(PoolsThatEnd, ChangeNothingWhereAllFits) {
  const ClosedLoopOutcome free = run(4, 0, false);
  for (const bool reserves : {false, true}) {
    const ClosedLoopOutcome wide = run(4, 5 * kRequest, reserves);
    EXPECT_EQ(wide.makespan, free.makespan);
    EXPECT_EQ(wide.first_token_mean, free.first_token_mean);
    EXPECT_EQ(wide.iterations, free.iterations);
  }
}

// Of two clients one is served at a time: four requests in turn, the second to the fourth of which
// wait for one before them.
TEST_F(PoolsThatEnd, ServeOneAfterAnother) {
  const ClosedLoopOutcome alone = run(1, 0, false);  // two requests
  for (const std::uint64_t pool : {kRequest, 2 * kRequest - 1}) {
    const ClosedLoopOutcome in_turn = run(2, pool, true);
    EXPECT_EQ(in_turn.makespan.ps, 2 * alone.makespan.ps) << pool;
    EXPECT_EQ(in_turn.per_token_mean, alone.per_token_mean) << pool;
    EXPECT_EQ(in_turn.iterations, 4u * kAnswer) << pool;
    EXPECT_EQ(in_turn.first_token_mean.ps - alone.first_token_mean.ps,
              alone.makespan.ps / 2 * 3 / 4)
        << pool;
  }
  EXPECT_LT(run(2, 2 * kRequest, true).makespan, run(2, kRequest, true).makespan);
}

TEST_F(PoolsThatEnd, ServeARequestThatDoesNotFitAlone) {
  EXPECT_EQ(run(2, 1, true).makespan, run(2, kRequest, true).makespan);
  EXPECT_EQ(run(2, 1, false).makespan, run(2, kRequest, true).makespan);
}

// Two prompts fit, and of their answers 16 tokens each: then the request that began last gives up,
// waits for the other, and computes its prompt and 16 tokens anew. No token is given out twice.
TEST_F(PoolsThatEnd, HaveTheLastRequestGiveUp) {
  const ClosedLoopOutcome free = run(2, 0, false), in_turn = run(2, kRequest, true);
  const ClosedLoopOutcome narrow = run(2, 2 * (kPrompt + 16), false);
  EXPECT_GT(narrow.makespan, free.makespan);
  EXPECT_GT(narrow.iterations, free.iterations);
  EXPECT_LT(narrow.iterations, in_turn.iterations);
  EXPECT_GT(narrow.per_token_mean, in_turn.per_token_mean);
}

// One client, whose next request comes when nothing else is there, never waits; of several, who is
// answered first asks again while the others decode, and waits for a look.
TEST_F(PoolsThatEnd, WaitForALook) {
  const auto looking = [&](std::uint32_t clients, std::uint32_t every) {
    return run_closed_loop({.clients = clients,
                            .requests = 3 * clients,
                            .prompt_most = kPrompt,
                            .output_most = kAnswer,
                            .least_share = 0.5,
                            .looks_every = every},
                           time);
  };
  EXPECT_EQ(looking(1, 10).first_token_mean, looking(1, 1).first_token_mean);
  EXPECT_EQ(looking(1, 10).makespan, looking(1, 1).makespan);
  EXPECT_GT(looking(4, 10).first_token_mean, looking(4, 1).first_token_mean);
}

// Who asks again waits until the others do, too, or for some iterations; nobody waits who has none
// to wait for.
TEST_F(PoolsThatEnd, GatherPrompts) {
  const auto gathering = [&](std::uint32_t prompts, std::uint32_t iterations) {
    return run_closed_loop({.clients = 4,
                            .requests = 12,
                            .prompt_most = kPrompt,
                            .output_most = kAnswer,
                            .least_share = 0.5,
                            .gathers = prompts,
                            .gathers_for = iterations},
                           time);
  };
  const ClosedLoopOutcome at_once = gathering(1, 60);
  EXPECT_EQ(gathering(4, 0).first_token_mean, at_once.first_token_mean);
  EXPECT_GT(gathering(4, 2).first_token_mean, at_once.first_token_mean);
  EXPECT_GT(gathering(4, 60).first_token_mean, gathering(4, 2).first_token_mean);
  EXPECT_EQ(gathering(5, 1000).makespan, gathering(4, 1000).makespan);
}

// Whatever the pool, all is answered, and no sooner than without an end.
TEST_F(PoolsThatEnd, AnswerAll) {
  const ClosedLoopOutcome free = run(8, 0, false);
  for (std::uint64_t pool = 100; pool < 9 * kRequest; pool += 157) {
    for (const bool reserves : {false, true}) {
      const ClosedLoopOutcome outcome = run(8, pool, reserves);
      EXPECT_GE(outcome.makespan, free.makespan) << pool;
      EXPECT_GE(outcome.iterations, free.iterations) << pool;
    }
  }
}

}  // namespace
}  // namespace exawarp::tests
