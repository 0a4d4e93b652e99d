// What archives make of one description.
#include "pdes/state_archive.h"

#include <gtest/gtest.h>

namespace exawarp::tests {
namespace {

using namespace pdes;

struct Pair {
  std::uint32_t high = 0;
  std::uint32_t low = 0;
};

struct Plain {
  std::int64_t number = -3;
  core::Time time{17};
  Pair pair{5, 6};
  std::uint64_t unhashed = 9;

  void describe(StateArchive& archive) {
    archive.word(number);
    archive.word(time);
    archive.pair(pair.high, pair.low);
    archive.kept(unhashed);
    archive.bytes(&pair);
  }
};

TEST(StateDigest, IsTheHashOfTheWordsInTheirOrder) {
  Plain plain;
  StateDigest digest;
  plain.describe(digest);
  core::Hasher expected;
  expected.word(static_cast<std::uint64_t>(-3));
  expected.word(17);
  expected.word(std::uint64_t{5} << 32 | 6);
  expected.bytes(&plain.pair, sizeof plain.pair);
  EXPECT_EQ(digest.value(), expected.value());
}

TEST(StateDigest, TakesAPartAsOneWord) {
  Plain plain;
  StateDigest alone, digest;
  plain.describe(alone);
  digest.part([&] { plain.describe(digest); });
  core::Hasher expected;
  expected.word(alone.value());
  EXPECT_EQ(digest.value(), expected.value());
}

TEST(StateReader, SetsWhatTheWriterWrote) {
  Plain before{.number = 1, .time = core::Time{2}, .pair = {3, 4}, .unhashed = 5};
  StateWriter writer;
  before.describe(writer);
  Plain after;
  BlockPool blocks;
  StateReader reader(writer.bytes(), blocks);
  after.describe(reader);
  EXPECT_TRUE(reader.is_at_end());
  EXPECT_EQ(after.number, 1);
  EXPECT_EQ(after.time.ps, 2);
  EXPECT_EQ(after.pair.low, 4u);
  EXPECT_EQ(after.unhashed, 5u);
}

TEST(StateReader, StopsWhereBytesAreMissing) {
  Plain plain;
  StateWriter writer;
  plain.describe(writer);
  BlockPool blocks;
  StateReader reader(std::span(writer.bytes()).first(writer.bytes().size() - 1), blocks);
  EXPECT_EXIT(plain.describe(reader), testing::ExitedWithCode(1), "check failed");
}

TEST(StateRelease, GivesTheBlockOfAnArrayBack) {
  BlockPool blocks;
  auto* const block = static_cast<std::uint64_t*>(blocks.allocate(7));
  std::uint64_t* array = block;
  StateRelease release(blocks);
  release.array(array, 16, [](std::uint64_t&) {});
  EXPECT_EQ(blocks.allocate(7), block);
}

}  // namespace
}  // namespace exawarp::tests
