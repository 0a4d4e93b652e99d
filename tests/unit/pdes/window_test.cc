#include "pdes/window.h"

#include <gtest/gtest.h>

namespace exawarp::tests {
namespace {

using namespace pdes;
using namespace core::literals;

// As many events executed, and undone, and nanoseconds lost since the run began.
WindowTotals after(std::uint64_t processed, std::uint64_t rolled_back, std::uint64_t lost_ns) {
  return {.processed = processed, .rolled_back = rolled_back, .lost_ns = lost_ns};
}

TEST(Window, IsTheLookaheadInConservativeMode) {
  Window window({.lookahead = 7_ns, .conservative = true, .partitions = 4});
  for (std::uint64_t i = 1; i < 50; ++i) window.update(after(i * 100, 0, i * 10'000));
  EXPECT_EQ(window.span(), 7_ns);
}

TEST(Window, GrowsWhileEpochsCostMoreThanUndoing) {
  Window window({.lookahead = 1_ns, .partitions = 4});
  const core::Time start = window.span();
  for (std::uint64_t i = 1; i < 40; ++i) window.update(after(i * 100, i, i * 10'000));
  EXPECT_GT(window.span(), 100 * start);
}

TEST(Window, ShrinksToTheLookaheadWhenMostIsUndone) {
  Window window({.lookahead = 1_ns, .partitions = 4});
  for (std::uint64_t i = 1; i < 20; ++i) window.update(after(i * 100, 0, i * 10'000));
  for (std::uint64_t i = 1; i < 60; ++i)
    window.update(after(2000 + i * 1000, i * 900, 200'000 + i * 10'000));
  EXPECT_EQ(window.span(), 1_ns);
}

// Phases alternate as in a training step: silence, dense communication, and now and then waste.
TEST(Window, NeitherCollapsesNorRunsAwayWhenPhasesAlternate) {
  Window window({.lookahead = 1_us, .partitions = 2});
  WindowTotals totals;
  for (int phase = 0; phase < 30; ++phase) {
    // Events are proportional to the window: 1 per us when quiet, 1000 when dense.
    const auto density = phase % 2 == 0 ? 1 : 1000;
    for (int epoch = 0; epoch < 60; ++epoch) {
      totals.processed += static_cast<std::uint64_t>(window.span().ps / 1'000'000 * density);
      if (phase % 3 == 2 && window.span() > 3_ms) totals.rolled_back += 1000;
      totals.lost_ns += 10'000;
      window.update(totals);
      EXPECT_GE(window.span(), 1_us);
    }
    const std::int64_t events = window.span().ps / 1'000'000 * density;
    EXPECT_LT(events, 40'000) << "phase " << phase;
    EXPECT_GT(events, 500) << "phase " << phase;
  }
}

// Where waiting is the larger loss, longer epochs are worth a history that leaves the cache.
TEST(Window, LetsEpochsGrowWhileWorkersWait) {
  Window window({.lookahead = 1_ns, .partitions = 2});
  const std::uint64_t least = window.event_limit();
  WindowTotals totals;
  const auto spend = [&](std::uint64_t busy_ns, std::uint64_t lost_ns) {
    for (int epoch = 0; epoch < 100; ++epoch) {
      totals.processed += 1000;
      totals.busy_ns += busy_ns;
      totals.lost_ns += lost_ns;
      window.update(totals);
    }
  };
  spend(60'000, 40'000);
  const std::uint64_t most = window.event_limit();
  EXPECT_GE(most, 6 * least);
  spend(85'000, 15'000);
  EXPECT_EQ(window.event_limit(), most);
  spend(99'000, 1'000);
  EXPECT_LE(window.event_limit(), 2 * least);
}

// As between machines, where a round takes longer than an epoch that stays in cache.
TEST(Window, LetsEpochsGrowFurtherWhileWorkersWaitLongerThanTheyWork) {
  Window window({.lookahead = 1_ns, .partitions = 2});
  WindowTotals totals;
  const auto spend = [&](std::uint64_t busy_ns, std::uint64_t lost_ns) {
    for (int epoch = 0; epoch < 200; ++epoch) {
      totals.processed += 1000;
      totals.busy_ns += busy_ns;
      totals.lost_ns += lost_ns;
      window.update(totals);
    }
    return window.event_limit();
  };
  const std::uint64_t in_cache = spend(60'000, 40'000);
  const std::uint64_t beyond = spend(30'000, 70'000);
  EXPECT_GE(beyond, 12 * in_cache);
  EXPECT_EQ(spend(60'000, 40'000), beyond);  // it is what this takes
  EXPECT_LE(spend(75'000, 25'000), in_cache);
}

TEST(Window, IsTheLookaheadWhereThatHasEventsEnough) {
  Window window({.lookahead = 1_ns, .partitions = 8, .workers = 2});
  for (std::uint64_t i = 1; i < 20; ++i) window.update(after(i * 100, 0, i * 10'000));
  EXPECT_GT(window.span(), 10_ns);
  // 1,000 events a nanosecond, whatever the window is.
  WindowTotals totals = after(2000, 0, 200'000);
  for (int i = 0; i < 3; ++i) {
    totals.processed += static_cast<std::uint64_t>(window.span().ps);
    totals.lost_ns += 10'000;
    window.update(totals);
    EXPECT_EQ(window.span(), 1_ns);
  }
}

// Where ranks are to agree, an epoch costs more.
TEST(Window, AmongRanksALookaheadNeedsMoreEvents) {
  Window window({.lookahead = 1_ns, .partitions = 8, .workers = 2, .among_ranks = true});
  WindowTotals totals;
  for (int i = 0; i < 40; ++i) {
    totals.processed += static_cast<std::uint64_t>(window.span().ps);
    totals.lost_ns += 100'000;
    window.update(totals);
  }
  EXPECT_GT(window.span(), 5_ns);
}

TEST(Window, AFixedWindowStaysAsItIs) {
  Window window({.lookahead = 1_ns, .fixed = 5_us, .partitions = 4});
  for (std::uint64_t i = 1; i < 20; ++i) window.update(after(i * 100, i * 90, 0));
  EXPECT_EQ(window.span(), 5_us);
}

}  // namespace
}  // namespace exawarp::tests
