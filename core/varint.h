// Numbers of as many bytes as they need, seven bits in each, the lowest first; all but the last
// have the high bit set. As in protobuf, whose encoding this is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace exawarp::core {

constexpr std::size_t kVarintBytesMax = 10;

// Writes the number from `at` on, where there is room for it; returns the place behind it. A Byte
// is char, std::uint8_t or std::byte.
template <class Byte>
constexpr Byte* write_varint(std::uint64_t value, Byte* at) {
  const auto put = [&at](std::uint64_t byte) {
    *at++ = static_cast<Byte>(static_cast<std::uint8_t>(byte));
  };
  for (; value >= 0x80; value >>= 7) put(value | 0x80);
  put(value);
  return at;
}

}  // namespace exawarp::core
