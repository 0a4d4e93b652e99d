#include "pdes/executor.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace exawarp::tests {
namespace {

using namespace pdes;

constexpr std::uint32_t kTasks = 13;

void expect_runs_each_index_once_and_shows_all_writes(Executor& executor) {
  std::vector<std::uint64_t> counts(kTasks, 0);  // plain: the executor must order the rounds
  for (int round = 0; round < 500; ++round)
    executor.for_each([&](std::uint32_t i) { counts[i] += i + 1; });
  for (std::uint64_t i = 0; i < counts.size(); ++i) EXPECT_EQ(counts[i], 500 * (i + 1));
}

TEST(Executor, PlainThreadsRunEachIndexOnceARound) {
  for (const std::uint32_t threads : {1u, 2u, 5u})
    expect_runs_each_index_once_and_shows_all_writes(
        *make_thread_executor({.threads = threads, .partitions = kTasks}));
}

TEST(Executor, TheBuildsChoiceRunsEachIndexOnceARound) {
  for (const std::uint32_t threads : {1u, 2u, 5u})
    expect_runs_each_index_once_and_shows_all_writes(
        *make_executor({.threads = threads, .partitions = kTasks}));
}

TEST(Executor, ARoundOfNothingReturns) {
  make_executor({.threads = 2, .partitions = 0})->for_each([](std::uint32_t) {});
}

TEST(Executor, ATasksExceptionReachesTheCaller) {
  const auto executor = make_executor({.threads = 2, .partitions = kTasks});
  const auto fail = [](std::uint32_t i) {
    if (i % 2 == 1) throw std::runtime_error("a sink's disk is full");
  };
  EXPECT_THROW(executor->for_each(fail), std::runtime_error);
}

// oneTBB has one set of workers for the whole process, and the first executor keeps them.
TEST(Executor, OneWithoutWorkersDoesItAlone) {
  const auto first = make_executor({.threads = 2, .partitions = kTasks});
  const auto second = make_executor({.threads = 2, .partitions = kTasks});
  expect_runs_each_index_once_and_shows_all_writes(*first);
  expect_runs_each_index_once_and_shows_all_writes(*second);
}

}  // namespace
}  // namespace exawarp::tests
