// The time series stays small, and adds up over ranks.
#include <gtest/gtest.h>

#include <thread>

#include "pdes/time_series.h"
#include "pdes/transport.h"
#include "pdes/transport_in_process.h"

namespace exawarp::tests {
namespace {

using namespace pdes;

// A moment whose figures tell where they come from.
void add(Sampler& sampler, std::uint64_t host_ns, std::uint64_t rank) {
  const std::vector<PartitionFigures> partitions{
      {.processed_events = 1000 * rank + host_ns},
      {.processed_events = 1000 * rank + 100 + host_ns}};
  sampler.add({.host_ns = host_ns, .epoch = host_ns, .gvt = Time{7}}, {.worker_ns = host_ns},
              partitions);
}

TEST(Sampler, IsDueAtTheStartAndThenOnceAnInterval) {
  Sampler sampler({.interval_ns = 10, .partitions_per_rank = 2, .moments_max = 4});
  EXPECT_TRUE(sampler.is_due(0));
  add(sampler, 3, 0);
  EXPECT_FALSE(sampler.is_due(12));
  EXPECT_TRUE(sampler.is_due(13));
}

TEST(Sampler, DropsEveryOtherMomentAndDoublesTheIntervalWhenItIsFull) {
  Sampler sampler({.interval_ns = 1, .partitions_per_rank = 2, .moments_max = 4});
  for (std::uint64_t ns = 0; ns < 5; ++ns) add(sampler, ns, 0);
  EXPECT_EQ(sampler.interval_ns(), 2u);
  const auto transport = make_single_transport();
  const TimeSeries series = sampler.gathered(*transport);
  ASSERT_EQ(series.moments.size(), 3u);
  for (std::size_t m = 0; m < 3; ++m) {
    EXPECT_EQ(series.moments[m].host_ns, 2 * m);
    EXPECT_EQ(series.of_rank(m, 0).worker_ns, 2 * m);
    EXPECT_EQ(series.of_partitions(m, 0)[1].processed_events, 100 + 2 * m);
  }
}

TEST(Sampler, NeverHoldsMoreMomentsThanAllowed) {
  Sampler sampler({.interval_ns = 1, .partitions_per_rank = 2, .moments_max = 8});
  std::uint64_t asked = 0;
  for (std::uint64_t ns = 0; ns < 1'000'000; ++ns) {
    if (!sampler.is_due(ns)) continue;
    add(sampler, ns, 0);
    ++asked;
  }
  const auto transport = make_single_transport();
  EXPECT_LE(sampler.gathered(*transport).moments.size(), 8u);
  EXPECT_LT(asked, 200u);
}

TEST(Sampler, GathersRanksByMoment) {
  InProcessHub hub(3, 0);
  TimeSeries all;
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t r = 0; r < 3; ++r) {
      threads.emplace_back([&, r] {
        const auto transport = hub.endpoint({r});
        Sampler sampler({.interval_ns = 1, .partitions_per_rank = 2, .moments_max = 4});
        add(sampler, 1, r);
        add(sampler, 2, r);
        const TimeSeries series = sampler.gathered(*transport);
        if (r == 0) {
          all = series;
        } else {
          EXPECT_EQ(series.moments.size() + series.rank_figures.size(), 0u);
        }
      });
    }
  }
  ASSERT_EQ(all.moments.size(), 2u);
  ASSERT_EQ(all.ranks, 3u);
  for (std::size_t m = 0; m < 2; ++m)
    for (std::uint32_t r = 0; r < 3; ++r) {
      EXPECT_EQ(all.of_partitions(m, r)[0].processed_events, 1000 * r + m + 1);
      EXPECT_EQ(all.of_partitions(m, r)[1].processed_events, 1000 * r + m + 101);
    }
}

TEST(Sampler, TheLimitOfMomentsBoundsTheSeriesOfAllRanks) {
  EXPECT_EQ(moments_max_for(1), 4096u);
  EXPECT_EQ(moments_max_for(1024), 256u);
  EXPECT_EQ(moments_max_for(65'536), 8u);
}

}  // namespace
}  // namespace exawarp::tests
