// Replicas under closed loops of clients, and what an iteration takes where attention is data
// parallel.
#include "model/serving/closed_loop.h"

#include <gtest/gtest.h>

#include "model/generate/spec.h"
#include "model/serving/pooled_loop.h"
#include "tests/unit/model/serving/small_iterations.h"

namespace exawarp::tests {
namespace {

using namespace model::serving;
using core::Time;

IterationTime time_of(std::int64_t tensor, std::int64_t attention_data) {
  return without_launches(small_iteration(tensor, attention_data));
}

// A batch of prompts of so many tokens each.
Time prompts(const IterationTime& time, std::uint64_t count, std::uint64_t tokens) {
  const auto core_ps = static_cast<std::int64_t>(count) * time.prompt_core_ps(tokens, 0);
  return time.of({.tokens = count * tokens,
                  .prompts = count,
                  .prompt_tokens = count * tokens,
                  .prompt_core_ps = core_ps});
}

TEST(DataParallelAttention, DoesTheSameWorkWhereEachGroupHasAPrompt) {
  const Time split = prompts(time_of(4, 1), 4, 4'096);
  const Time dealt = prompts(time_of(4, 4), 4, 4'096);
  EXPECT_LT(dealt, split);  // each device normalises its own tokens alone
  EXPECT_NEAR(static_cast<double>(dealt.ps) / static_cast<double>(split.ps), 1, 0.03);
}

TEST(DataParallelAttention, LeavesAPromptToOneGroup) {
  const IterationTime split = time_of(4, 1), dealt = time_of(4, 4);
  EXPECT_GT(prompts(dealt, 1, 4'096), prompts(split, 1, 4'096));
  // The others have nothing else to do: four take longer only by what all devices do together.
  const Time more = prompts(dealt, 4, 4'096) - prompts(dealt, 1, 4'096);
  const Time together = prompts(split, 4, 4'096) - prompts(split, 1, 4'096);
  EXPECT_LT(more, together);
}

TEST(DataParallelAttention, WaitsForTheGroupWithMostDecodes) {
  const IterationTime dealt = time_of(4, 4);
  const auto decodes = [&](std::uint64_t n) {
    return dealt.of({.tokens = n, .outputs = n, .decodes = n, .decode_context = n * 65'536});
  };
  const Time one_each = decodes(4), one_has_two = decodes(5), two_each = decodes(8);
  EXPECT_GT((one_has_two - one_each).ps, 9 * (two_each - one_has_two).ps);
}

TEST(DataParallelAttention, NeedsGroupsThatDivideTheDevices) {
  try {
    check(small_iteration(4, 3));
    FAIL();
  } catch (const model::SpecProblem& problem) {
    EXPECT_EQ(problem.key, "attention_data");
  }
}

class PooledLoops : public testing::Test {
 protected:
  [[nodiscard]] PooledLoop loop(std::uint32_t clients, std::uint32_t requests) const {
    return {.clients = {.clients = clients,
                        .requests = requests,
                        .prompt_most = 512,
                        .output_most = 32},
            .prompts = {.time = &time, .workers = 1, .requests = 1},
            .decodes = {.time = &time, .workers = 1, .requests = 8}};
  }
  const IterationTime time = time_of(1, 1);
};

TEST_F(PooledLoops, AreAClosedLoopForOneClient) {
  const PooledLoop pools = loop(1, 5);
  const ClosedLoopOutcome apart = run_pooled_loop(pools);
  const ClosedLoopOutcome together = run_closed_loop(pools.clients, time);
  EXPECT_EQ(apart.first_token_mean, together.first_token_mean);
  EXPECT_EQ(apart.per_token_mean, together.per_token_mean);
  EXPECT_EQ(apart.makespan, together.makespan);
  EXPECT_EQ(apart.iterations, together.iterations);
  EXPECT_EQ(apart.iterations, 5u * 32u);
}

TEST_F(PooledLoops, HavePromptsWaitForAWorker) {
  PooledLoop pools = loop(2, 2);
  const Time alone = prompts(time, 1, 512) + (time.of({.outputs = 1}) - time.of({}));
  EXPECT_EQ(run_pooled_loop(pools).first_token_mean.ps, alone.ps * 3 / 2);
  pools.prompts.workers = 2;
  EXPECT_EQ(run_pooled_loop(pools).first_token_mean, alone);
}

TEST_F(PooledLoops, HaveDecodesWaitForRoom) {
  const Time alone = run_pooled_loop(loop(1, 1)).per_token_mean;
  PooledLoop pools = loop(2, 2);
  pools.prompts.workers = 2;
  pools.decodes.requests = 1;
  EXPECT_NEAR(static_cast<double>(run_pooled_loop(pools).per_token_mean.ps),
              static_cast<double>(alone.ps) * 1.5, 2);
  pools.decodes.workers = 2;
  EXPECT_EQ(run_pooled_loop(pools).per_token_mean, alone);
}

TEST_F(PooledLoops, AreAnsweredWithOneToken) {
  PooledLoop pools = loop(3, 7);
  pools.clients.output_most = 1;
  const ClosedLoopOutcome outcome = run_pooled_loop(pools);
  EXPECT_EQ(outcome.iterations, 7u);
  EXPECT_EQ(outcome.per_token_mean, Time{0});
}

}  // namespace
}  // namespace exawarp::tests
