// The workers' time is accounted for in full, over all ranks.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "pdes/host_time.h"
#include "pdes/transport_in_process.h"

namespace exawarp::tests {
namespace {

using namespace pdes;

TEST(HostTime, SumsRanksAndFindsTheHeaviestAndTheLightestPartition) {
  // Two ranks of two workers and two partitions run for 1 s; partition i works for (i + 1) * 0.2 s.
  InProcessHub hub(2, 0);
  HostTime t;
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t r = 0; r < 2; ++r) {
      threads.emplace_back([&, r] {
        const auto transport = hub.endpoint({r});
        std::vector<Statistics> partitions(2);
        for (std::uint64_t i = 0; i < 2; ++i) {
          partitions[i].process_ns = (2 * r + i + 1) * 100'000'000;
          partitions[i].exchange_ns = (2 * r + i + 1) * 70'000'000;
          partitions[i].collect_ns = (2 * r + i + 1) * 30'000'000;
          partitions[i].processed_events = 2 * r + i;
        }
        const HostTime mine = account_host_time({.run_s = 1,
                                                 .workers = 2,
                                                 .first_partition = 2 * r,
                                                 .partitions = partitions,
                                                 .gvt_ns = 100'000'000},
                                                *transport);
        if (r == 0) t = mine;
      });
    }
  }
  EXPECT_DOUBLE_EQ(t.worker_s, 4);
  EXPECT_DOUBLE_EQ(t.executing, 1.0 / 4);
  EXPECT_DOUBLE_EQ(t.mailboxes, 0.7 / 4);
  EXPECT_DOUBLE_EQ(t.collecting, 0.3 / 4);
  EXPECT_DOUBLE_EQ(t.synchronising, 0.4 / 4);
  EXPECT_DOUBLE_EQ(t.waiting, 1.6 / 4);
  EXPECT_DOUBLE_EQ(t.mean_busy_s, 0.5);
  EXPECT_EQ(t.heaviest.partition, 3u);
  EXPECT_EQ(t.heaviest.committed_events, 3u);
  EXPECT_EQ(t.lightest.partition, 0u);
  EXPECT_EQ(t.lightest.busy_ns, 200'000'000u);
}

}  // namespace
}  // namespace exawarp::tests
