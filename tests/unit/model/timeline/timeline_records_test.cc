// What is read of a device's records is what was put there, whatever it is.
#include "model/timeline/timeline_records.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>

namespace exawarp::tests {
namespace {

using model::TimelineMark;
using model::TimelineRecord;
using model::TimelineRecords;

constexpr std::uint32_t kLp = 7;

std::vector<TimelineRecord> read(const TimelineRecords& records) {
  std::vector<TimelineRecord> out;
  records.read(kLp, out);
  return out;
}

TimelineRecord task(TimelineMark mark, std::int64_t at_ps, std::uint64_t b, std::uint64_t c) {
  return {.at_ps = at_ps,
          .b = b,
          .c = c,
          .lp = kLp,
          .stream = 3,
          .time_class = 0,
          .mark = static_cast<std::uint8_t>(mark)};
}

TimelineRecord spent(std::int64_t at_ps, std::uint64_t from, std::uint64_t until) {
  TimelineRecord out = task(TimelineMark::spent, at_ps, from, until);
  out.time_class = 5;
  return out;
}

TEST(TimelineRecords, AreReadAsTheyCame) {
  constexpr auto kNotKnown = static_cast<std::uint64_t>(core::Time::max().ps);
  const std::vector<TimelineRecord> expected{
      task(TimelineMark::begins, 10, 1ull << 32 | 4, kNotKnown),
      task(TimelineMark::ends, 30, 1ull << 32 | 4, 20),
      task(TimelineMark::begins, 30, 1ull << 32 | 6, 50),
      spent(30, 0, 30),
      task(TimelineMark::ends, 40, 1ull << 32 | 9, kNotKnown),
      task(TimelineMark::begins, 5, 1ull << 32, 4),  // of before a restart
      spent(60, 30, 30)};
  TimelineRecords records;
  EXPECT_TRUE(read(records).empty());
  for (const TimelineRecord& record : expected) records.append(record);
  EXPECT_EQ(read(records), expected);
  EXPECT_EQ(read(records), expected);
}

TEST(TimelineRecords, MayHaveAnyTimesAndWords) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  constexpr std::array<std::uint64_t, 8> kEnds{
      0, 1, kMost, kMost - 1, kMost / 2, kMost / 2 + 1, kMost / 2 + 2, 1ull << 32};
  std::mt19937_64 random(1);
  const auto word = [&] {
    const std::uint64_t any = random();
    return any % 3 == 0 ? kEnds[any / 3 % kEnds.size()] : random() >> any / 3 % 64;
  };
  std::vector<TimelineRecord> expected;
  TimelineRecords records;
  for (int i = 0; i < 20'000; ++i) {
    TimelineRecord r{.at_ps = static_cast<std::int64_t>(word()),
                     .b = word(),
                     .c = word(),
                     .lp = kLp,
                     .stream = static_cast<std::uint16_t>(random() % TimelineRecords::kStreamsMax),
                     .time_class = 0,
                     .mark = static_cast<std::uint8_t>(random() % 3)};
    if (r.what() == TimelineMark::spent) r.time_class = static_cast<std::uint8_t>(random());
    expected.push_back(r);
    records.append(r);
  }
  EXPECT_EQ(read(records), expected);
}

}  // namespace
}  // namespace exawarp::tests
