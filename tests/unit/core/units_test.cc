// Quantities as users write them: exact base units, and the text of each refusal.
#include "core/units.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace exawarp::tests {
namespace {

using namespace core;

struct Good {
  std::string text;
  Dimension dimension;
  std::int64_t value;
};
void PrintTo(const Good& good, std::ostream* out) { *out << good.text; }

class ParsesExactly : public testing::TestWithParam<Good> {};

TEST_P(ParsesExactly, IntoWholeBaseUnits) {
  const Good& c = GetParam();
  const ParsedQuantity parsed = parse_quantity(c.text, c.dimension);
  EXPECT_EQ(parsed.error, "");
  EXPECT_EQ(parsed.value, c.value);
}

INSTANTIATE_TEST_SUITE_P(
    Units, ParsesExactly,
    testing::Values(
        Good{"400 Gb/s", Dimension::bandwidth, 50'000'000'000},
        Good{"400Gbit/s", Dimension::bandwidth, 50'000'000'000},
        Good{"50 GB/s", Dimension::bandwidth, 50'000'000'000},
        Good{"3.35 TB/s", Dimension::bandwidth, 3'350'000'000'000},
        Good{"1 KiB/s", Dimension::bandwidth, 1'024},
        Good{"8 b/s", Dimension::bandwidth, 1},
        Good{"989.4 TFLOP/s", Dimension::rate, 989'400'000'000'000},
        Good{"1978.9 TOP/s", Dimension::rate, 1'978'900'000'000'000},
        Good{"940 MHz", Dimension::frequency, 940'000'000},
        Good{"80 GB", Dimension::size, 80'000'000'000},
        Good{"16 MiB", Dimension::size, 16'777'216},
        Good{"0.5 KiB", Dimension::size, 512},
        Good{"3.6 us", Dimension::time, 3'600'000},
        Good{"0.1 us", Dimension::time, 100'000},
        Good{"1e-3 us", Dimension::time, 1'000},
        Good{"1.5e3 ns", Dimension::time, 1'500'000},
        Good{"0 ps", Dimension::time, 0},
        Good{"0.000 s", Dimension::time, 0},
        Good{"  2 h ", Dimension::time, 7'200'000'000'000'000},
        Good{"9223372036854775807 ps", Dimension::time, 9'223'372'036'854'775'807},
        Good{"9.223372036854775807e18 ps", Dimension::time, 9'223'372'036'854'775'807}));

struct Bad {
  std::string text;
  Dimension dimension;
  std::string error;
};
void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.text; }

class RefusesQuantity : public testing::TestWithParam<Bad> {};

TEST_P(RefusesQuantity, AndSaysWhatIsWrong) {
  const Bad& c = GetParam();
  EXPECT_EQ(parse_quantity(c.text, c.dimension).error, c.error);
}

const std::string kTime = "; expected e.g. \"3.6 us\" or \"250 ns\"";
const std::string kBandwidth = "; expected e.g. \"400 Gb/s\" or \"50 GB/s\"";
const std::string kSize = "; expected e.g. \"80 GB\" or \"16 MiB\"";

INSTANTIATE_TEST_SUITE_P(
    Units, RefusesQuantity,
    testing::Values(
        Bad{"400 Gb", Dimension::bandwidth, "has no time unit" + kBandwidth},
        Bad{"400", Dimension::bandwidth, "has no unit" + kBandwidth},
        Bad{"3 us", Dimension::bandwidth, "is a time, not a bandwidth" + kBandwidth},
        Bad{"50 GB/s", Dimension::size, "is a bandwidth, not a size" + kSize},
        Bad{"50 Gbyte", Dimension::size, "has the unknown unit \"Gbyte\"" + kSize},
        Bad{"-1 us", Dimension::time, "is negative" + kTime},
        Bad{"fast", Dimension::time, "is no time" + kTime},
        Bad{"", Dimension::time, "is no time" + kTime},
        Bad{".", Dimension::time, "is no time" + kTime},
        Bad{"1.2.3 us", Dimension::time, "has the unknown unit \".3 us\"" + kTime},
        Bad{"0.5 ps", Dimension::time, "is not a whole number of picoseconds" + kTime},
        Bad{"1e-999999 s", Dimension::time, "is not a whole number of picoseconds" + kTime},
        Bad{"3 b/s", Dimension::bandwidth,
            "is not a whole number of bytes per second" + kBandwidth},
        Bad{"1e400 s", Dimension::time, "is too large; expected less than 2^63 picoseconds"},
        Bad{"9223372036854775808 ps", Dimension::time,
            "is too large; expected less than 2^63 picoseconds"},
        Bad{"11 PB/s", Dimension::bandwidth, "has the unknown unit \"PB/s\"" + kBandwidth}));

TEST(Format, TimesHaveFourSignificantDigits) {
  EXPECT_EQ(format_time(Time{0}), "0 ps");
  EXPECT_EQ(format_time(Time{999}), "999 ps");
  EXPECT_EQ(format_time(Time{3'600'000}), "3.6 us");
  EXPECT_EQ(format_time(Time{11'571'234'567'890}), "11.57 s");
  EXPECT_EQ(format_time(Time{-1'500}), "-1.5 ns");
  EXPECT_EQ(format_time(Time{1'234'000'000'000'000}), "1234 s");
}

TEST(Format, BytesAndCountsChooseAPrefix) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1'536), "1.5 KiB");
  EXPECT_EQ(format_bytes(6'442'450'944), "6 GiB");
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1'234'567), "1.23 M");
  EXPECT_EQ(format_grouped(7), "7");
  EXPECT_EQ(format_grouped(32'768), "32,768");
  EXPECT_EQ(format_grouped(1'234'567), "1,234,567");
}

}  // namespace
}  // namespace exawarp::tests
