#include "core/stop_signal.h"

#include <gtest/gtest.h>

#include <memory>

namespace exawarp::core {
namespace {

TEST(StopSignal, TheFirstOneAsks) {
  {
    const StopOnSignals stop;
    EXPECT_FALSE(stop_asked());
    std::raise(SIGUSR1);
    EXPECT_EQ(stop_signal(), SIGUSR1);
  }
  const StopOnSignals again;
  EXPECT_FALSE(stop_asked());
}

TEST(StopSignal, AnInnerOneKnowsWhatTheOuterOneWasAsked) {
  const StopOnSignals outer({SIGUSR1});
  std::raise(SIGUSR1);
  {
    const StopOnSignals inner;
    EXPECT_EQ(stop_signal(), SIGUSR1);
  }
  EXPECT_EQ(stop_signal(), SIGUSR1);
}

TEST(StopSignal, TheLastOfSeveralCounts) {
  auto first = std::make_unique<const StopOnSignals>();
  const StopOnSignals second;
  first.reset();
  std::raise(SIGTERM);
  EXPECT_EQ(stop_signal(), SIGTERM);
}

TEST(StopSignalDeathTest, OthersThanItsOwnEndTheProcess) {
  EXPECT_EXIT(
      {
        const StopOnSignals stop({SIGUSR1});
        std::raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(StopSignalDeathTest, TheSecondOneEndsTheProcess) {
  EXPECT_EXIT(
      {
        const StopOnSignals stop;
        std::raise(SIGTERM);
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST(StopSignalDeathTest, AfterwardsOneEndsTheProcess) {
  EXPECT_EXIT(
      {
        { const StopOnSignals stop; }
        std::raise(SIGUSR1);
      },
      testing::KilledBySignal(SIGUSR1), "");
}

TEST(StopSignal, WhatIsIgnoredStaysSo) {
  const auto before = std::signal(SIGINT, SIG_IGN);
  {
    const StopOnSignals stop;
    std::raise(SIGINT);
    EXPECT_FALSE(stop_asked());
  }
  std::signal(SIGINT, before);
}

TEST(StopSignal, Names) {
  EXPECT_EQ(signal_name(SIGTERM), "SIGTERM");
  EXPECT_EQ(signal_name(0), "signal 0");
}

}  // namespace
}  // namespace exawarp::core
