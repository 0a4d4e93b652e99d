#include "model/network/packet/train_turns.h"

#include <gtest/gtest.h>

#include <vector>

namespace exawarp::tests {
namespace {

using core::Time;
using model::PassingTrain;
using model::TrainTurns;

constexpr Time kWire{10};

// Packets arrive at `next` and every `spacing` from there on, and may start 5 ps later.
PassingTrain train(std::int64_t next, std::int64_t spacing, std::uint32_t left = 1'000) {
  return {.next = Time{next}, .spacing = Time{spacing}, .lag = Time{5}, .left = left};
}

// The starts of the first packet of each, in turn.
std::vector<std::int64_t> starts(const TrainTurns& turns) {
  std::vector<std::int64_t> result;
  for (std::uint32_t p = 0; p < turns.trains(); ++p) result.push_back(turns.start(p).ps);
  return result;
}

TEST(TrainTurns, KeepTheirDistanceWhereThereIsRoom) {
  const std::vector<PassingTrain> passing{train(120, 40), train(100, 40)};
  const TrainTurns turns(passing, Time{0}, kWire);
  ASSERT_TRUE(turns.even());
  EXPECT_EQ(turns.train(0), 1u);
  EXPECT_EQ(starts(turns), (std::vector<std::int64_t>{105, 125}));
  EXPECT_EQ(turns.period(), Time{40});
  EXPECT_EQ(turns.packets(0), 1'000u);
}

TEST(TrainTurns, WaitForEachOtherAsLongInEachRound) {
  const std::vector<PassingTrain> passing{train(100, 40), train(104, 40)};
  const TrainTurns turns(passing, Time{0}, kWire);
  ASSERT_TRUE(turns.even());
  EXPECT_EQ(starts(turns), (std::vector<std::int64_t>{105, 115}));
  EXPECT_EQ(turns.period(), Time{40});
}

TEST(TrainTurns, LeaveBackToBackWhereTheyAreTooMany) {
  const std::vector<PassingTrain> passing{train(100, 20), train(104, 20), train(108, 20)};
  const TrainTurns turns(passing, Time{200}, kWire);
  ASSERT_TRUE(turns.even());
  EXPECT_EQ(starts(turns), (std::vector<std::int64_t>{200, 210, 220}));
  EXPECT_EQ(turns.period(), Time{30});
}

TEST(TrainTurns, AreEvenUntilAQueueIsWorkedOff) {
  const std::vector<PassingTrain> passing{train(100, 50), train(110, 50)};
  const TrainTurns turns(passing, Time{200}, kWire);
  ASSERT_TRUE(turns.even());
  EXPECT_EQ(turns.period(), Time{20});
  // The first is ready at 105, 155, 205, 255, ... and leaves at 200, 220, 240, 260, not at 280.
  EXPECT_EQ(turns.packets(0), 4u);
  EXPECT_EQ(turns.packets(1), 4u);
}

TEST(TrainTurns, EndWithTheFirstThatEnds) {
  const std::vector<PassingTrain> passing{train(100, 40), train(110, 40, 3), train(120, 40)};
  const TrainTurns turns(passing, Time{0}, kWire);
  ASSERT_TRUE(turns.even());
  EXPECT_EQ(turns.packets(0), 4u);
  EXPECT_EQ(turns.packets(1), 3u);
  EXPECT_EQ(turns.packets(2), 3u);
  EXPECT_EQ(turns.ends(), 10);
}

TEST(TrainTurns, AreNotEvenAtTwoDistancesOrBehindALateOne) {
  const std::vector<PassingTrain> distances{train(100, 40), train(110, 80)};
  EXPECT_FALSE(TrainTurns(distances, Time{0}, kWire).even());
  const std::vector<PassingTrain> late{train(100, 40), train(150, 40)};
  EXPECT_FALSE(TrainTurns(late, Time{0}, kWire).even());
  // A queue that only the first packet meets.
  const std::vector<PassingTrain> queued{train(100, 40), train(120, 40)};
  EXPECT_FALSE(TrainTurns(queued, Time{112}, kWire).even());
  EXPECT_FALSE(TrainTurns({}, Time{0}, kWire).even());
}

}  // namespace
}  // namespace exawarp::tests
