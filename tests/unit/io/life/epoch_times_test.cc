// What an epoch takes on several workers, by cases that can be reckoned by hand.
#include "io/life/epoch_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/support/draws.h"

namespace exawarp::tests {
namespace {

using namespace io;
using Tasks = std::vector<std::uint64_t>;

TEST(SlowestWorker, HasAllTasksWhereThereIsOne) {
  EXPECT_EQ(slowest_worker_ns(Tasks{30, 10, 10}, 1), 50u);
  EXPECT_EQ(slowest_worker_ns(Tasks{}, 1), 0u);
}

TEST(SlowestWorker, HasItsShareWhereTasksAreEqual) {
  EXPECT_EQ(slowest_worker_ns(Tasks{10, 10, 10, 10}, 2), 20u);
  EXPECT_EQ(slowest_worker_ns(Tasks{10, 10, 10, 10}, 4), 10u);
}

TEST(SlowestWorker, HasTheLongestTaskWhereEachHasOne) {
  EXPECT_EQ(slowest_worker_ns(Tasks{7, 40, 9}, 3), 40u);
  EXPECT_EQ(slowest_worker_ns(Tasks{7, 40, 9}, 8), 40u);
}

TEST(SlowestWorker, IsHelpedByThoseWhoAreDone) {
  EXPECT_EQ(slowest_worker_ns(Tasks{30, 10, 10, 10}, 2), 30u);
  EXPECT_EQ(slowest_worker_ns(Tasks{10, 10, 10, 30}, 2), 40u);  // its own tasks in order
}

TEST(SlowestWorker, IsBetweenTheMeanAndTheSum) {
  Draws random(7, 1);
  for (int round = 0; round < 200; ++round) {
    Tasks tasks(1 + random.below(24));
    for (std::uint64_t& task : tasks) task = random.below(1'000);
    const std::uint64_t sum = std::accumulate(tasks.begin(), tasks.end(), std::uint64_t{0});
    for (const std::uint32_t threads : {1u, 2u, 3u, 8u}) {
      const std::uint64_t slowest = slowest_worker_ns(tasks, threads);
      EXPECT_GE(slowest * threads, sum);
      EXPECT_GE(slowest, *std::ranges::max_element(tasks));
      EXPECT_LE(slowest, sum);
    }
  }
}

pdes::RehearsedEpoch epoch_of(const Tasks& busy_ns, const Tasks& departures) {
  return {.busy_ns = busy_ns,
          .departures = departures,
          .serial_ns = 5,
          .host_ns = 50,
          .committed_events = 100};
}

TEST(EpochTimes, OfOneWorkerAreWorkAndWhatItsMainThreadDoes) {
  const Tasks busy{10, 20, 30, 40}, sent{1, 1, 1, 1};
  const EpochTimes t = times_of(epoch_of(busy, sent), {1, 1}, {});
  EXPECT_EQ(t.work_ns, 100);
  EXPECT_EQ(t.imbalance_ns, 0);
  EXPECT_EQ(t.barrier_ns, 5);
  EXPECT_EQ(t.exchange_ns, 0);
}

TEST(EpochTimes, WaitForTheRankThatHasMost) {
  const Tasks busy{10, 20, 30, 40}, sent{1, 2, 0, 5};
  const EpochTimes t = times_of(epoch_of(busy, sent), {2, 1},
                                {.exchange_ns = 1'000, .exchange_event_ns = 10});
  EXPECT_EQ(t.work_ns, 50);
  EXPECT_EQ(t.imbalance_ns, 20);
  EXPECT_EQ(t.exchange_ns, 1'050);  // the second rank sends five
  EXPECT_EQ(t.wall_ns(), 50 + 20 + 5 + 1'050);
}

TEST(EpochTimes, PayForTheBarrierOfThreads) {
  const Tasks busy{10, 20, 30, 40}, sent{0, 0, 0, 0};
  const EpochTimes t = times_of(epoch_of(busy, sent), {1, 4}, {.barrier_ns = 300});
  EXPECT_EQ(t.work_ns, 25);
  EXPECT_EQ(t.imbalance_ns, 15);
  EXPECT_EQ(t.barrier_ns, 305);
}

TEST(PlannedEpochs, TellTheWindowWhatTheWorkersWouldLose) {
  PlannedEpochs epochs(
      {{.shape = {2, 1}, .costs = {.exchange_ns = 100}}, {.shape = {1, 1}, .costs = {}}}, 5);
  const Tasks busy{10, 40}, sent{0, 0};
  // Two workers, for 40 + 5 + 100 each, of which they work for 50 together.
  EXPECT_EQ(epochs.lost_ns(epoch_of(busy, sent)), 2u * 145 - 50);
  EXPECT_EQ(epochs.times()[0].wall_ns(), 145);
  EXPECT_EQ(epochs.times()[1].wall_ns(), 55);
  EXPECT_EQ(epochs.epochs(), 1u);
  EXPECT_EQ(epochs.processor_share(), 1);
}

TEST(PlannedEpochs, SayWhatOtherWorkHad) {
  PlannedEpochs epochs({{.shape = {2, 1}, .costs = {}}}, 5);
  const Tasks busy{500, 250}, sent{0, 0};
  epochs.lost_ns(
      {.busy_ns = busy, .departures = sent, .serial_ns = 250, .taken_ns = 3'000, .host_ns = 2'600});
  EXPECT_EQ(epochs.times()[0].wall_ns(), 750);
  EXPECT_EQ(epochs.processor_share(), 0.25);
  EXPECT_DOUBLE_EQ(epochs.host_s(), 2.6e-6);
  EXPECT_DOUBLE_EQ(epochs.busy_s(), 0.75e-6);
}

TEST(PlannedEpochs, AreOverAfterTheSample) {
  PlannedEpochs epochs({{.shape = {1, 1}, .costs = {}}}, 50e-9);
  const Tasks busy{50}, sent{0};
  EXPECT_FALSE(epochs.is_over());
  epochs.lost_ns(epoch_of(busy, sent));
  EXPECT_TRUE(epochs.is_over());
}

TEST(Undisturbed, IsWhatWorkHadOfItsProcessor) {
  EXPECT_EQ(pdes::undisturbed_ns(1'000, 1'100), 1'000u);  // measured around it
  EXPECT_EQ(pdes::undisturbed_ns(1'000, 400), 400u);
}

}  // namespace
}  // namespace exawarp::tests
