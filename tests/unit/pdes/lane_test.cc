#include "pdes/lane.h"

#include <gtest/gtest.h>

#include "pdes/undo.h"

namespace exawarp::pdes {
namespace {

TEST(Lane, AnIndexKeepsItsMeaningWhenTheLaneGrows) {
  Lane<int> lane(4);
  for (int i = 0; i < 3; ++i) lane.push(i);
  lane.drop_before(lane.head() - 1);
  const std::uint64_t first = lane.head();
  for (int i = 0; i < 100; ++i) lane.push(i);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(lane[first + static_cast<std::uint64_t>(i)], i);
  EXPECT_EQ(lane[first - 1], 2);
}

TEST(Lane, ReusesRoomThatWasDropped) {
  Lane<int> lane(8);
  const std::size_t bytes = lane.capacity_bytes();
  for (int i = 0; i < 1000; ++i) {
    lane.push(i);
    lane.drop_before(lane.head());
  }
  EXPECT_EQ(lane.capacity_bytes(), bytes);
}

// Never empty, so it moves its few live entries to the front time and again.
TEST(Lane, MovesToTheFrontRatherThanGrow) {
  Lane<int> lane(8);
  const std::size_t bytes = lane.capacity_bytes();
  for (int i = 0; i < 1000; ++i) {
    lane.push(i);
    if (lane.size() == 4) lane.drop_before(lane.head() - 3);
    const std::uint64_t newest = lane.head() - 1;
    for (std::uint64_t k = 0; k < lane.size(); ++k)
      EXPECT_EQ(lane[newest - k], i - static_cast<int>(k));
  }
  EXPECT_EQ(lane.capacity_bytes(), bytes);
}

TEST(Lane, ForgetsFromTheHead) {
  Lane<int> lane(4);
  for (int i = 0; i < 6; ++i) lane.push(i);
  lane.drop_from(lane.head() - 2);
  lane.push(7);
  EXPECT_EQ(lane[lane.head() - 1], 7);
  EXPECT_EQ(lane[lane.head() - 2], 3);
}

TEST(UndoLog, RestoresOldBytesNewestFirst) {
  struct {
    std::uint64_t a = 1;
    std::uint16_t b = 2;
    unsigned char c[13] = "hello, world";
  } s;
  const auto before = s;
  UndoLog log;
  const std::uint64_t begin = log.head();
  for (std::uint64_t i = 0; i < 5; ++i) {
    log.save(s.a);
    s.a = 100 + i;
  }
  log.save(s.b);
  s.b = 77;
  log.save(s.c);
  s.c[0] = s.c[12] = 'X';
  log.restore(begin, log.head());
  EXPECT_EQ(s.a, before.a);
  EXPECT_EQ(s.b, before.b);
  EXPECT_EQ(std::memcmp(s.c, before.c, sizeof s.c), 0);
}

}  // namespace
}  // namespace exawarp::pdes
