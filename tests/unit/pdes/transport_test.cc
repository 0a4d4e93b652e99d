// The in-process transport keeps the promises that GVT rests on, calm and chaotic.
#include <gtest/gtest.h>

#include <thread>

#include "pdes/transport_in_process.h"

namespace exawarp::pdes {
namespace {

// Each rank sends every other one buffer a round, then votes until nothing is in transit.
void exchange(std::uint64_t chaos) {
  constexpr std::uint32_t kRanks = 3;
  constexpr std::uint64_t kRounds = 50;
  InProcessHub hub(kRanks, chaos);
  std::vector<std::uint64_t> taken(kRanks, 0);
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t r = 0; r < kRanks; ++r) {
      threads.emplace_back([&, r] {
        const auto transport = hub.endpoint({r});
        std::int64_t sent = 0;
        const EventReceiver receive = [&](std::span<const Event> e) { taken[r] += e.size(); };
        for (std::uint64_t round = 1; round <= kRounds; ++round) {
          for (std::uint32_t to = 0; to < kRanks; ++to) {
            if (to == r) continue;
            transport->send({to}, std::vector<Event>(to + 1));
            ++sent;
          }
          GvtVote all;
          do {
            all = transport->round(
                {.least = Time{r + 10},
                 .in_transit = sent - static_cast<std::int64_t>(transport->buffers_received()),
                 .processed = 1},
                receive);
            EXPECT_EQ(all.least, Time{10});
            EXPECT_EQ(all.processed, kRanks);
          } while (all.in_transit != 0);
          EXPECT_GE(taken[r], round * (kRanks - 1) * (r + 1));
        }
      });
    }
  }
  for (std::uint64_t r = 0; r < kRanks; ++r) EXPECT_EQ(taken[r], kRounds * (kRanks - 1) * (r + 1));
}

TEST(InProcessTransport, NothingIsInTransitUnlessItIsCounted) { exchange(0); }
TEST(InProcessTransport, CountsBuffersThatAreHeldBackAndReordered) { exchange(99); }

TEST(InProcessTransport, ReducesAndGathersInRankOrder) {
  InProcessHub hub(2, 0);
  std::vector<std::jthread> threads;
  for (std::uint32_t r = 0; r < 2; ++r) {
    threads.emplace_back([&hub, r] {
      const auto transport = hub.endpoint({r});
      std::vector<std::uint64_t> words{r + 1, 10};
      transport->all_reduce_sum(words);
      EXPECT_EQ(words, (std::vector<std::uint64_t>{3, 20}));
      words = {r + 1, 10};
      transport->all_reduce_max(words);
      EXPECT_EQ(words, (std::vector<std::uint64_t>{2, 10}));
      const std::byte mine{static_cast<unsigned char>(r)};
      const auto all = transport->gather({&mine, 1});
      const std::vector<std::byte> on_rank_0{std::byte{0}, std::byte{1}};
      EXPECT_EQ(all, r == 0 ? on_rank_0 : std::vector<std::byte>{});
    });
  }
}

}  // namespace
}  // namespace exawarp::pdes
