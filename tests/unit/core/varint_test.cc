#include "core/varint.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace exawarp::tests {
namespace {

std::string written(std::uint64_t value) {
  char bytes[core::kVarintBytesMax];
  return {bytes, core::write_varint(value, bytes)};
}

TEST(Varint, HasSevenBitsInEachByteTheLowestFirst) {
  EXPECT_EQ(written(0), std::string(1, '\0'));
  EXPECT_EQ(written(127), "\x7f");
  EXPECT_EQ(written(128), std::string("\x80\x01"));
  EXPECT_EQ(written(300), std::string("\xac\x02"));
  EXPECT_EQ(written(std::numeric_limits<std::uint64_t>::max()), std::string(9, '\xff') + '\x01');
}

TEST(Varint, NeedsAByteMoreForEachSevenBits) {
  for (unsigned bits = 1; bits < 64; ++bits) {
    const std::uint64_t least = std::uint64_t{1} << bits;
    EXPECT_EQ(written(least).size(), bits / 7 + 1) << bits;
    EXPECT_EQ(written(least - 1).size(), (bits - 1) / 7 + 1) << bits;
  }
}

}  // namespace
}  // namespace exawarp::tests
