#include "pdes/window.h"

#include <gtest/gtest.h>

namespace exawarp::pdes {
namespace {

using namespace core::literals;

TEST(Window, IsTheLookaheadInConservativeMode) {
  Window window({.lookahead = 7_ns, .conservative = true, .partitions = 4});
  for (std::uint64_t i = 1; i < 50; ++i) window.update({i * 100, 0, i * 10'000});
  EXPECT_EQ(window.span(), 7_ns);
}

TEST(Window, GrowsWhileEpochsCostMoreThanUndoing) {
  Window window({.lookahead = 1_ns, .partitions = 4});
  const core::Time start = window.span();
  for (std::uint64_t i = 1; i < 40; ++i) window.update({i * 100, i, i * 10'000});
  EXPECT_GT(window.span(), 100 * start);
}

TEST(Window, ShrinksToTheLookaheadWhenMostIsUndone) {
  Window window({.lookahead = 1_ns, .partitions = 4});
  for (std::uint64_t i = 1; i < 20; ++i) window.update({i * 100, 0, i * 10'000});
  for (std::uint64_t i = 1; i < 60; ++i)
    window.update({2000 + i * 1000, i * 900, 200'000 + i * 10'000});
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

TEST(Window, AFixedWindowStaysAsItIs) {
  Window window({.lookahead = 1_ns, .fixed = 5_us, .partitions = 4});
  for (std::uint64_t i = 1; i < 20; ++i) window.update({i * 100, i * 90, 0});
  EXPECT_EQ(window.span(), 5_us);
}

}  // namespace
}  // namespace exawarp::pdes
