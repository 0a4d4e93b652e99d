#include "pdes/log.h"

#include <gtest/gtest.h>

#include "pdes/undo.h"

namespace exawarp::tests {
namespace {

using namespace pdes;

TEST(Log, AnIndexKeepsItsMeaningWhenTheLogGrows) {
  Log<int> log(4);
  for (int i = 0; i < 3; ++i) log.push(i);
  log.drop_before(log.head() - 1);
  const std::uint64_t first = log.head();
  for (int i = 0; i < 100; ++i) log.push(i);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(log[first + static_cast<std::uint64_t>(i)], i);
  EXPECT_EQ(log[first - 1], 2);
}

TEST(Log, ReusesRoomThatWasDropped) {
  Log<int> log(8);
  const std::size_t bytes = log.capacity_bytes();
  for (int i = 0; i < 1000; ++i) {
    log.push(i);
    log.drop_before(log.head());
  }
  EXPECT_EQ(log.capacity_bytes(), bytes);
}

// Never empty, so it moves its few live entries to the front time and again.
TEST(Log, MovesToTheFrontRatherThanGrow) {
  Log<int> log(8);
  const std::size_t bytes = log.capacity_bytes();
  for (int i = 0; i < 1000; ++i) {
    log.push(i);
    if (log.size() == 4) log.drop_before(log.head() - 3);
    const std::uint64_t newest = log.head() - 1;
    for (std::uint64_t k = 0; k < log.size(); ++k)
      EXPECT_EQ(log[newest - k], i - static_cast<int>(k));
  }
  EXPECT_EQ(log.capacity_bytes(), bytes);
}

TEST(Log, ForgetsFromTheHead) {
  Log<int> log(4);
  for (int i = 0; i < 6; ++i) log.push(i);
  log.drop_from(log.head() - 2);
  log.push(7);
  EXPECT_EQ(log[log.head() - 1], 7);
  EXPECT_EQ(log[log.head() - 2], 3);
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
}  // namespace exawarp::tests
