// Mailboxes of few partitions, where every pair has a box, and of many, where boxes come with the
// first event: the same promises.
#include "pdes/mailbox.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "pdes/executor.h"

namespace exawarp::tests {
namespace {

using namespace pdes;

constexpr std::uint32_t kMany = 8'000;

class MailboxesTest : public testing::TestWithParam<std::uint32_t> {
 protected:
  void send(std::uint32_t from, std::uint32_t to, std::uint32_t sequence) {
    Event& event = boxes_.new_local(from, to);
    event.source = {from};
    event.sequence = sequence;
  }
  [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> drained(std::uint32_t to) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> all;
    boxes_.drain(to, [&](const Event& e) { all.emplace_back(e.source.value, e.sequence); });
    std::ranges::stable_sort(all, {}, [](const auto& e) { return e.first; });
    return all;
  }

  Mailboxes boxes_{GetParam(), 1};
  const std::uint32_t last_ = GetParam() - 1;
};

using Received = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

TEST_P(MailboxesTest, ShowWhatWasSentInTheEpochBefore) {
  send(0, last_, 1);
  EXPECT_EQ(drained(last_), Received{});
  boxes_.next_epoch();
  EXPECT_EQ(drained(last_), (Received{{0, 1}}));
  EXPECT_EQ(drained(0), Received{});
}

TEST_P(MailboxesTest, KeepTheOrderOfEachSender) {
  for (std::uint32_t i = 0; i < 5; ++i) {
    send(0, last_, i);
    send(1, last_, i + 10);
  }
  boxes_.next_epoch();
  EXPECT_EQ(
      drained(last_),
      (Received{
          {0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}, {1, 10}, {1, 11}, {1, 12}, {1, 13}, {1, 14}}));
}

TEST_P(MailboxesTest, ShowNothingTwice) {
  for (std::uint32_t epoch = 0; epoch < 6; ++epoch) {
    send(0, last_, epoch);
    send(last_, 0, epoch);
    boxes_.next_epoch();
    EXPECT_EQ(drained(last_), (Received{{0, epoch}}));
    EXPECT_EQ(drained(0), (Received{{last_, epoch}}));
  }
}

// By several workers, where the thread sanitizer sees who touches what.
TEST_P(MailboxesTest, TakeNoLocksBetweenWorkers) {
  const std::uint32_t partitions = std::min(GetParam(), 300u);
  const auto executor = make_thread_executor({.threads = 3, .partitions = partitions});
  std::vector<std::uint32_t> received(partitions);
  for (std::uint32_t epoch = 0; epoch < 20; ++epoch) {
    boxes_.next_epoch();
    executor->for_each([&](std::uint32_t here) {
      boxes_.drain(here, [&](const Event&) { ++received[here]; });
      send(here, (here + epoch % 7) % partitions, epoch);
    });
  }
  EXPECT_EQ(received, std::vector<std::uint32_t>(partitions, 19));
}

INSTANTIATE_TEST_SUITE_P(FewAndMany, MailboxesTest,
                         testing::Values(2u, Mailboxes::kPairsMax, Mailboxes::kPairsMax + 1,
                                         kMany));

long peak_rss_kib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(Mailboxes, OfManyPartitionsTakeNoMemoryForPairsThatDoNotTalk) {
  const long before = peak_rss_kib();
  const Mailboxes boxes(kMany, 1);
  EXPECT_LT(peak_rss_kib() - before, 64 << 10);  // a box for every pair: 8 GiB
}

}  // namespace
}  // namespace exawarp::tests
