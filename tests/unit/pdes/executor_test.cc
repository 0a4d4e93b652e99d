#include "pdes/executor.h"

#include <gtest/gtest.h>

#include <vector>

namespace exawarp::pdes {
namespace {

void expect_runs_each_index_once_and_shows_all_writes(Executor& executor) {
  std::vector<std::uint64_t> counts(13, 0);  // plain: the executor must order the rounds
  for (int round = 0; round < 500; ++round)
    executor.for_each(13, [&](std::uint32_t i) { counts[i] += i + 1; });
  for (std::uint64_t i = 0; i < counts.size(); ++i) EXPECT_EQ(counts[i], 500 * (i + 1));
}

TEST(Executor, PlainThreadsRunEachIndexOnceARound) {
  for (const std::uint32_t threads : {1u, 2u, 5u})
    expect_runs_each_index_once_and_shows_all_writes(*make_thread_executor(threads));
}

TEST(Executor, TheBuildsChoiceRunsEachIndexOnceARound) {
  for (const std::uint32_t threads : {1u, 2u, 5u})
    expect_runs_each_index_once_and_shows_all_writes(*make_executor(threads));
}

TEST(Executor, ARoundOfNothingReturns) { make_executor(2)->for_each(0, [](std::uint32_t) {}); }

}  // namespace
}  // namespace exawarp::pdes
