// The in-process transport keeps the promises that GVT rests on, calm and chaotic.
#include <gtest/gtest.h>

#include <thread>

#include "pdes/transport_in_process.h"
#include "tests/unit/pdes/exchange_check.h"

namespace exawarp::tests {
namespace {

using namespace pdes;

void exchange(std::uint64_t chaos) {
  constexpr std::uint32_t kRanks = 3;
  InProcessHub hub(kRanks, chaos);
  std::vector<std::jthread> threads;
  for (std::uint32_t r = 0; r < kRanks; ++r) {
    threads.emplace_back([&hub, r] {
      const auto transport = hub.endpoint({r});
      EXPECT_EQ(tests::faults_in_exchanges(*transport, 0), "");
    });
  }
}

TEST(InProcessTransport, AnExchangeDeliversAllThatWasSentInIt) { exchange(0); }
TEST(InProcessTransport, AnExchangeDeliversInAnyOrderOfSenders) { exchange(99); }

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
}  // namespace exawarp::tests
