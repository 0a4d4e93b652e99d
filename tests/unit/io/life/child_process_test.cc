#include "io/life/child_process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace exawarp::tests {
namespace {

using io::ChildEnd;
using io::ChildProcess;

ChildEnd end_of(const ChildProcess::Work& work) {
  ChildProcess child(work);
  while (child.read()) {
  }
  return child.wait();
}

TEST(ChildProcess, HandsBackItsResultAndItsExitCode) {
  const ChildEnd end = end_of([](std::string& result) {
    result = "seven";
    return 7;
  });
  EXPECT_EQ(end.result, "seven");
  EXPECT_EQ(end.exit_code, 7);
  EXPECT_EQ(end.signal, 0);
}

TEST(ChildProcess, MayHaveMoreToSayThanAPipeHolds) {
  const ChildEnd end = end_of([](std::string& result) {
    result.assign(1 << 20, 'x');
    return 0;
  });
  EXPECT_EQ(end.result.size(), std::size_t{1} << 20);
}

TEST(ChildProcess, TakesNothingWithItWhenItIsKilled) {
  const ChildEnd end = end_of([](std::string&) { return raise(SIGKILL); });
  EXPECT_EQ(end.signal, SIGKILL);
  EXPECT_EQ(end.exit_code, 128 + SIGKILL);
  EXPECT_EQ(end.result, "");
}

TEST(ChildProcess, ItsLastLineIsKept) {
  const ChildEnd end = end_of([](std::string&) {
    std::fputs("one\ncheck failed: two\n", stderr);
    return raise(SIGKILL);
  });
  EXPECT_EQ(end.last_words, "check failed: two");
}

TEST(ChildProcess, IsNotStoppedByWhatItsParentDecidesOn) {
  const ChildEnd end = end_of([](std::string& result) {
    for (const int asks : {SIGINT, SIGTERM, SIGUSR1}) raise(asks);
    result = "goes on";
    return 0;
  });
  EXPECT_EQ(end.result, "goes on");
}

TEST(ChildProcess, EndsWithItsOwner) {
  ChildProcess endless([](std::string&) { return pause(); });
  const ChildProcess moved = std::move(endless);
  EXPECT_GE(moved.descriptor(), 0);  // and the destructor does not wait for ever
}

}  // namespace
}  // namespace exawarp::tests
