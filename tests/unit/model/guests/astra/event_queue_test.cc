#include "model/guests/astra/event_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace exawarp::tests {
namespace {

using namespace model::astra;

std::vector<std::uint32_t> drained(EventQueue& queue) {
  std::vector<std::uint32_t> order;
  for (Event event; queue.pop(event);) order.push_back(event.index);
  return order;
}

TEST(EventQueue, PopsByTimeAndThenByInsertion) {
  EventQueue queue;
  for (const auto& [time, index] :
       {std::pair<Ns, std::uint32_t>{5, 0}, {3, 1}, {5, 2}, {3, 3}, {0, 4}, {9, 5}, {3, 6}}) {
    queue.push(time, {Event::Kind::tick, index});
  }
  EXPECT_EQ(drained(queue), (std::vector<std::uint32_t>{4, 1, 3, 6, 0, 2, 5}));
  EXPECT_EQ(queue.now(), 9u);
  EXPECT_EQ(queue.popped(), 7u);
}

TEST(EventQueue, WhatIsInsertedNowComesAfterWhatIsThereNow) {
  EventQueue queue;
  queue.push(7, {Event::Kind::tick, 0});
  queue.push(7, {Event::Kind::tick, 1});
  Event event{};
  ASSERT_TRUE(queue.pop(event));
  queue.push(7, {Event::Kind::tick, 2});
  EXPECT_EQ(drained(queue), (std::vector<std::uint32_t>{1, 2}));
}

TEST(EventQueue, AgreesWithAStableSortOverManyTimes) {
  EventQueue queue;
  std::vector<std::pair<Ns, std::uint32_t>> expected;
  std::uint64_t state = 1;
  for (std::uint32_t i = 0; i < 5'000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    expected.emplace_back(state >> 57, i);  // 128 times
    queue.push(expected.back().first, {Event::Kind::hop, i});
  }
  std::ranges::stable_sort(expected, {}, &std::pair<Ns, std::uint32_t>::first);
  std::vector<std::uint32_t> order;
  for (const auto& [time, index] : expected) order.push_back(index);
  EXPECT_EQ(drained(queue), order);
}

}  // namespace
}  // namespace exawarp::tests
