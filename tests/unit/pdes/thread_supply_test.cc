// Fewer threads than were asked for: a line, and neither a hang nor std::terminate.
#include "pdes/thread_supply.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/error.h"
#include "pdes/executor.h"

namespace exawarp::tests {
namespace {

using namespace pdes;

constexpr std::size_t kStack = std::size_t{1} << 20;
constexpr std::uint32_t kTooMany = 1'000;

TEST(ThreadSupply, HasAFewThreads) {
  EXPECT_NO_THROW(require_threads(1, kStack));
  EXPECT_NO_THROW(require_threads(5, kStack));
}

TEST(ThreadSupply, TheLineSaysHowManyAndWhatWouldHelp) {
  try {
    fail_for_threads(3, 16, EAGAIN);
  } catch (const core::SystemError& error) {
    EXPECT_STREQ(error.what(),
                 "threads: the system gives 3 of 16: Resource temporarily unavailable; fewer "
                 "--threads, or a higher limit of processes (ulimit -u, pids.max) or of memory "
                 "(ulimit -v), would help");
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they map terabytes

// In a process of its own, whose memory has room for only a few stacks.
template <class Work>
void in_little_memory(Work work) {
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = rlim_t{1} << 30;
  if (::setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(9);
  try {
    work();
  } catch (const core::SystemError& error) {
    std::fputs(error.what(), stderr);
    std::_Exit(core::kSystemErrorExitCode);
  }
  std::_Exit(8);
}

class TooFewThreads : public testing::Test {
 protected:
  // In a fresh process: other tests have left threads behind in this one.
  TooFewThreads() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

const testing::ExitedWithCode kFails(core::kSystemErrorExitCode);
constexpr const char* kLine = "threads: the system gives [0-9]+ of 1000";

TEST_F(TooFewThreads, AreFoundOutInATrial) {
  EXPECT_EXIT(in_little_memory([] { require_threads(kTooMany, 4 * kStack); }), kFails, kLine);
}

TEST_F(TooFewThreads, AreAnErrorOfPlainThreads) {
  const ExecutorSetup setup{.threads = kTooMany, .partitions = kTooMany};
  EXPECT_EXIT(in_little_memory([&] { make_thread_executor(setup); }), kFails, kLine);
}

TEST_F(TooFewThreads, AreAnErrorOfTheBuildsChoice) {
  const ExecutorSetup setup{.threads = kTooMany, .partitions = kTooMany};
  EXPECT_EXIT(in_little_memory([&] { make_executor(setup); }), kFails, kLine);
}

#endif

}  // namespace
}  // namespace exawarp::tests
