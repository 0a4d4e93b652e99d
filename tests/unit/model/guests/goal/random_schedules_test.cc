// Random schedules: the model equals the oracle, and every mode the sequential one.
#include <gtest/gtest.h>

#include "model/guests/goal/schedule_writer.h"
#include "tests/support/goal_runs.h"

namespace exawarp {
namespace {

using model::goal::Op;
using model::goal::OpType;
using model::goal::Parameters;
using model::goal::Schedule;
using model::goal::ScheduleWriter;

// Rounds of pairwise messages. An operation follows one of its rank's earlier rounds, so that
// nothing waits for ever, and odd sizes and times make ties rare but not absent.
Schedule random_schedule(std::uint64_t seed, std::uint32_t ranks) {
  tests::Draws draw(seed);
  ScheduleWriter writer(ranks);
  std::vector<std::vector<std::uint32_t>> earlier(ranks);
  const auto add = [&](std::uint32_t rank, const Op& op) {
    const std::uint32_t index = writer.add(rank, op);
    std::vector<std::uint32_t>& before = earlier[rank];
    for (std::uint32_t k = 0; k < 2 && !before.empty(); ++k) {
      if (draw.below(3) == 0) continue;
      const std::uint32_t on = before[draw.below(static_cast<std::uint32_t>(before.size()))];
      if (draw.below(4) == 0) {
        writer.requires_start(rank, index, on);
      } else {
        writer.requires_end(rank, index, on);
      }
    }
    return index;
  };
  for (std::uint32_t round = 0; round < 6; ++round) {
    std::vector<std::vector<std::uint32_t>> fresh(ranks);
    for (std::uint32_t k = 0; k < 2 * ranks; ++k) {
      const std::uint32_t from = draw.below(ranks);
      const std::uint32_t to = (from + 1 + draw.below(ranks - 1)) % ranks;
      const std::uint64_t bytes = 1 + draw.below(3000);
      const std::uint32_t tag = draw.below(2);
      fresh[to].push_back(
          add(to, {.type = OpType::receive, .peer = from, .tag = tag, .size = bytes}));
      fresh[from].push_back(
          add(from, {.type = OpType::send, .peer = to, .tag = tag, .size = bytes}));
      fresh[from].push_back(add(from, {.type = OpType::calc, .size = draw.below(2000)}));
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      earlier[rank].insert(earlier[rank].end(), fresh[rank].begin(), fresh[rank].end());
  }
  return Schedule::from_bytes(writer.bytes(), "random");
}

TEST(RandomSchedules, TheModelEqualsTheOracle) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Schedule schedule = random_schedule(seed, 3 + static_cast<std::uint32_t>(seed % 6));
    for (const std::uint64_t eager_limit : {0u, 1500u, 10'000u}) {
      const Parameters p = tests::random_parameters(seed, eager_limit);
      const tests::GoalRun run = tests::run_goal(schedule, p);
      if (run.unended != 0) continue;  // equal tags may cross over between rounds
      EXPECT_EQ(run.finish, tests::goal_oracle(schedule, p))
          << "seed " << seed << " eager up to " << eager_limit;
    }
  }
}

TEST(RandomSchedules, EveryModeGivesTheSequentialDigestUnderAudit) {
  std::uint64_t rolled_back = 0, audited = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Schedule schedule = random_schedule(seed, 8);
    for (const std::uint64_t eager_limit : {0u, 1500u, 10'000u}) {
      const Parameters p = tests::random_parameters(seed, eager_limit);
      const auto [expected, careful, bold] = tests::run_goal_in_every_mode(schedule, p);
      EXPECT_EQ(careful.digest, expected.digest) << "seed " << seed;
      EXPECT_EQ(bold.digest, expected.digest) << "seed " << seed;
      EXPECT_EQ(bold.finish, expected.finish) << "seed " << seed;
      rolled_back += bold.rolled_back;
      audited += bold.audited;
    }
  }
  EXPECT_GT(rolled_back, 100u);
  EXPECT_GT(audited, 1000u);
}

}  // namespace
}  // namespace exawarp
