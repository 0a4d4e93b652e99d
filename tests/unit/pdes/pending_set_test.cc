// The pending set, held against std::multimap.
#include "pdes/pending_set.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "core/random.h"

namespace exawarp::tests {
namespace {

using namespace pdes;
using namespace core::literals;

class PendingSetTest : public testing::Test {
 protected:
  Event* event(std::int64_t ps, std::uint32_t source = 0) {
    Event& e = store_.emplace_back();
    e.receive_time = Time{ps};
    e.source = LpId{source};
    e.sequence = sequence_++;
    return &e;
  }
  void push(std::int64_t ps, std::uint32_t source = 0) {
    Event* e = event(ps, source);
    set_.push(e);
    model_.emplace(key_of(*e), e);
  }
  void pop_and_compare(Time horizon = Time::max()) {
    Event* got = set_.pop_before(horizon);
    const bool none = model_.empty() || model_.begin()->first.time >= horizon;
    ASSERT_EQ(got == nullptr, none);
    if (none) return;
    ASSERT_EQ(key_of(*got), model_.begin()->first);
    model_.erase(model_.begin());
  }

  std::deque<Event> store_;
  std::uint32_t sequence_ = 0;
  PendingSet set_;
  std::multimap<EventKey, Event*> model_;
};

TEST_F(PendingSetTest, IsEmptyAtFirst) {
  EXPECT_TRUE(set_.empty());
  EXPECT_EQ(set_.least(), Time::max());
  EXPECT_EQ(set_.pop_before(Time::max()), nullptr);
}

TEST_F(PendingSetTest, KeepsWhatIsAtTheHorizon) {
  push(10);
  EXPECT_EQ(set_.pop_before(10_ps), nullptr);
  EXPECT_NE(set_.pop_before(11_ps), nullptr);
}

TEST_F(PendingSetTest, BreaksTiesBySourceThenSequence) {
  push(5, 9);
  push(5, 2);
  push(5, 2);
  for (int i = 0; i < 3; ++i) pop_and_compare();
}

TEST_F(PendingSetTest, PutsAnAntiMessageRightBehindItsEvent) {
  Event* first = event(5);
  Event anti = *first;
  anti.flags = kAnti;
  Event resent = *first;
  resent.incarnation = 1;
  set_.push(&resent);
  set_.push(&anti);
  set_.push(first);
  EXPECT_EQ(set_.pop_before(Time::max()), first);
  EXPECT_EQ(set_.pop_before(Time::max()), &anti);
  EXPECT_EQ(set_.pop_before(Time::max()), &resent);
}

// Holds for a hold model, for far-off outliers, for crowds at one instant, and for pushes into the
// past, as rollbacks make them.
TEST_F(PendingSetTest, AgreesWithAMultimapUnderRandomUse) {
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    SCOPED_TRACE(seed);
    std::uint64_t draws = 0;
    const auto draw = [&](std::uint64_t n) { return core::random_bits(seed, draws++) % n; };
    std::int64_t now = 0;
    for (int step = 0; step < 60'000; ++step) {
      const std::uint64_t choice = draw(100);
      const auto spread = static_cast<std::int64_t>(draw(10) == 0 ? draw(100'000'000) : draw(3000));
      if (choice < 48 || (step < 20'000 && choice < 60)) {
        push(now + spread, static_cast<std::uint32_t>(draw(50)));
      } else if (choice < 50) {
        push(std::max<std::int64_t>(0, now - spread));
      } else if (choice == 50 && step % 7 == 0) {
        for (int i = 0; i < 300; ++i) push(now + 5);
      } else {
        if (!model_.empty()) now = model_.begin()->first.time.ps;
        pop_and_compare(draw(20) == 0 ? Time{now + 3} : Time::max());
      }
      ASSERT_EQ(set_.size(), model_.size());
    }
    while (!model_.empty()) pop_and_compare();
    ASSERT_TRUE(set_.empty());
  }
}

TEST_F(PendingSetTest, StaysInOrderWhenEventsCrowdBelowOneFarEvent) {
  push(1'000'000'000'000);
  for (int i = 0; i < 5000; ++i) push(1000 + i % 97);
  while (!model_.empty()) pop_and_compare();
}

// Few pending events, pushed all over the front: each is inserted among those not yet popped.
TEST_F(PendingSetTest, KeepsAFewEventsInOrderWhereverTheyArePushed) {
  std::uint64_t draws = 0;
  const auto draw = [&](std::uint64_t n) {
    return static_cast<std::int64_t>(core::random_bits(5, draws++) % n);
  };
  for (const int pending : {1, 2, 16, 33, 60}) {
    SCOPED_TRACE(pending);
    std::int64_t now = 0;
    for (int i = 0; i < pending; ++i) push(now + draw(1000), static_cast<std::uint32_t>(draw(9)));
    for (int step = 0; step < 4000; ++step) {
      now = model_.begin()->first.time.ps;
      pop_and_compare();
      push(now + 1 + draw(step % 50 == 0 ? 100'000 : 1000), static_cast<std::uint32_t>(draw(9)));
    }
    while (!model_.empty()) pop_and_compare();
  }
}

// Large fronts: times that part, times that crowd in one slot, and both.
TEST_F(PendingSetTest, SortsLargeFrontsWhetherOrNotTheirTimesPart) {
  std::uint64_t draws = 0;
  const auto draw = [&](std::uint64_t n) {
    return static_cast<std::int64_t>(core::random_bits(6, draws++) % n);
  };
  for (const std::int64_t step_ps : {1, 1000, 250'000, 5'000'000}) {
    SCOPED_TRACE(step_ps);
    std::int64_t now = 0;
    const auto delay = [&] { return (1 + draw(1'000'000) / step_ps) * step_ps; };
    for (int i = 0; i < 60'000; ++i) push(now + delay(), static_cast<std::uint32_t>(draw(99)));
    for (int i = 0; i < 60'000; ++i) {
      now = model_.begin()->first.time.ps;
      pop_and_compare();
      push(now + delay(), static_cast<std::uint32_t>(draw(99)));
    }
    while (!model_.empty()) pop_and_compare();
  }
}

// What members of rings send at one instant, in the order of those they received from.
TEST_F(PendingSetTest, MergesTheRunsOfACrowd) {
  constexpr std::uint32_t kKeys = 2'000;
  std::int64_t at = 1'000;
  for (const std::uint32_t runs : {1u, 2u, 3u, 5u, 7u, 8u, 9u, 40u}) {
    const std::uint32_t length = kKeys / runs;
    for (std::uint32_t i = 0; i < kKeys; ++i) push(at, i % length * runs + i / length);
    at += 1'000'000;
  }
  while (!model_.empty()) ASSERT_NO_FATAL_FAILURE(pop_and_compare());
}

// The front never empties, because one event lies far off; what is consumed must not pile up.
TEST_F(PendingSetTest, TellsOfEventsThatComeLate) {
  for (std::int64_t ps = 0; ps < 100'000; ++ps) push(ps);
  pop_and_compare();
  EXPECT_TRUE(set_.late().empty());
  EXPECT_FALSE(set_.push(event(200'000)));
  for (const std::int64_t ps : {20, 10, 30}) {
    Event* const late = event(ps);
    EXPECT_TRUE(set_.push(late));
    model_.emplace(key_of(*late), late);
  }
  EXPECT_EQ(set_.late().size(), 3u);
  EXPECT_EQ(set_.late().front().key.time, 10_ps);
  for (int i = 0; i < 12; ++i) pop_and_compare();
  EXPECT_EQ(set_.late().front().key.time, 20_ps);
}

TEST_F(PendingSetTest, WhatIsPutAmongFewEventsIsNotLate) {
  push(10);
  push(30);
  pop_and_compare();
  EXPECT_FALSE(set_.push(event(20)));
  EXPECT_TRUE(set_.late().empty());
}

TEST_F(PendingSetTest, StaysSmallWhileAFrontIsInsertedIntoForever) {
  push(1'000'000'000'000);
  push(1);
  for (int step = 0; step < 100'000; ++step) {
    const std::int64_t now = model_.begin()->first.time.ps;
    pop_and_compare();
    push(now + 10);
  }
  EXPECT_LT(set_.bytes(), 64u << 10);
}

}  // namespace
}  // namespace exawarp::tests
