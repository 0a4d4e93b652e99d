#include "io/cli/progress.h"

#include <gtest/gtest.h>

#include <sstream>

namespace exawarp::tests {
namespace {

using io::progress_line;
using io::StatusLine;

TEST(Progress, OfASweepTellsItsRateAndWhatIsLeft) {
  EXPECT_EQ(progress_line({.done = 38, .failed = 2, .all = 200, .ended_here = 20, .elapsed_s = 10}),
            "10 s: 40 of 200 points, 2 failed, 7200 points/h, 80 s left");
}

TEST(Progress, OfASweepThatBeginsHasNoRate) {
  EXPECT_EQ(progress_line({.done = 40, .all = 200, .elapsed_s = 3}), "3 s: 40 of 200 points");
}

TEST(Progress, IsALineFromTimeToTimeWhereThereIsNoTerminal) {
  std::ostringstream out, err;
  const io::Console console{out, err, false};
  StatusLine line(console);
  EXPECT_FALSE(line.is_due(9.9));
  EXPECT_TRUE(line.is_due(10));
  line.show(10, "half");
  EXPECT_FALSE(line.is_due(19));
  line.erase();
  EXPECT_EQ(err.str(), "half\n");
}

TEST(Progress, IsOneLineOfATerminalAndGoesAway) {
  std::ostringstream out, err;
  const io::Console console{out, err, true};
  {
    StatusLine line(console);
    EXPECT_TRUE(line.is_due(0.25));
    line.show(0.25, "half");
  }
  EXPECT_EQ(err.str(), "\r\x1b[Khalf\r\x1b[K");
}

}  // namespace
}  // namespace exawarp::tests
