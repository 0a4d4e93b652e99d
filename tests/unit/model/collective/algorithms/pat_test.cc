// Parallel aggregated trees: data, rounds, volume and time. That devices run them in the time of
// the formula is shown for all algorithms together, in unit/model/device/stepped_test.cc.
#include <gtest/gtest.h>

#include "model/collective/cost.h"
#include "tests/support/collective_simulator.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::Time;
using enum schema::CollectiveType;

constexpr StepCost kCost{Time{1'000'000}, 100'000'000'000};  // 1 us, 10 ps a byte

Collective pat(schema::CollectiveType type, std::uint32_t members, std::int64_t bytes) {
  return {.type = type, .algorithm = Algorithm::pat, .bytes = bytes, .members = members};
}

TEST(Pat, EndsEachMemberWithItsDataInTheTimeOfTheFormula) {
  for (const auto type : {ALL_GATHER, REDUCE_SCATTER}) {
    for (std::uint32_t n = 1; n <= 70; ++n) {
      const Collective c = pat(type, n, 5'000'011);
      const tests::CollectiveRun run = tests::run_collective(c, kCost);
      EXPECT_EQ(run.problem, "") << n << " members";
      EXPECT_EQ(run.messages, collective_messages(c)) << n << " members";
      EXPECT_EQ(run.time.ps, collective_time(c, kCost).ps) << n << " members";
    }
  }
}

TEST(Pat, TakesLogarithmicallyManyRoundsAndMovesNoBlockTwice) {
  for (const auto type : {ALL_GATHER, REDUCE_SCATTER}) {
    for (std::uint32_t n = 2, rounds = 1; n <= 70; ++n) {
      if (n > (1u << rounds)) ++rounds;
      const Collective c = pat(type, n, 1'000);
      for (std::uint32_t p = 0; p < n; ++p) {
        ASSERT_EQ(phase_count(c, p, 0), rounds);
        std::uint32_t blocks = 0;
        for (std::uint32_t k = 0; k < rounds; ++k) {
          blocks += transfer_of(c, p, 0, k, 0).blocks.count;
        }
        EXPECT_EQ(blocks, n - 1);
      }
    }
  }
}

// By hand, n = 8: messages of 1, 2 and 4 blocks; 6: of 1, 1 and 3.
TEST(Pat, SendsLittleFarAndMuchNear) {
  const auto peer = [](schema::CollectiveType type, std::uint32_t phase) {
    return transfer_of(pat(type, 8, 8'000), 0, 0, phase, 0);
  };
  EXPECT_EQ(peer(ALL_GATHER, 0).peer, 4u);
  EXPECT_EQ(peer(ALL_GATHER, 0).blocks.count, 1u);
  EXPECT_EQ(peer(ALL_GATHER, 2).peer, 1u);
  EXPECT_EQ(peer(ALL_GATHER, 2).blocks.count, 4u);
  EXPECT_EQ(peer(REDUCE_SCATTER, 0).peer, 7u);
  EXPECT_EQ(peer(REDUCE_SCATTER, 0).blocks.count, 4u);
  EXPECT_EQ(collective_time(pat(REDUCE_SCATTER, 8, 8'000), kCost),
            Time{3 * 1'000'000 + 7'000 * 10});
  EXPECT_EQ(collective_time(pat(ALL_GATHER, 6, 1'000), kCost), Time{3 * 1'000'000 + 5'000 * 10});
}

TEST(Pat, BeatsTheRingWhereLatencyRulesAndTheBoundNowhere) {
  for (const std::uint32_t n : {64u, 100u, 1'024u, 16'384u}) {
    for (const std::int64_t bytes : {8, 1'024, 1 << 20}) {
      Collective c = pat(ALL_GATHER, n, bytes);
      const Time by_pat = collective_time(c, kCost);
      EXPECT_GE(by_pat, wire_time(bytes * (n - 1), kCost));
      c.algorithm = Algorithm::ring;
      EXPECT_LT(by_pat, collective_time(c, kCost)) << n << " members, " << bytes << " bytes";
    }
  }
}

}  // namespace
}  // namespace exawarp::tests
