// Quantities with units, as users write them ("400 Gb/s", "3.6 us"), and numbers as people read
// them.
//
// A quantity becomes a whole number of base units (picoseconds, bytes, bytes per second, operations
// per second), computed in integers from the decimal text: no binary fraction takes part, so "0.1
// us" is exactly 100,000 ps. A quantity that is not a whole number is refused, not rounded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"

namespace exawarp::core {

// Base units: time ps, size byte, bandwidth byte/s, rate operation/s, power mW, frequency Hz.
enum class Dimension { time, size, bandwidth, rate, power, frequency };

struct ParsedQuantity {
  std::int64_t value = 0;
  std::string error;  // empty: fine; else what is wrong, to follow the quoted text
  [[nodiscard]] bool ok() const { return error.empty(); }
};

// Parses a non-negative decimal number, a space or none, and a unit of `dimension`. Prefixes K, M,
// G, T, P are powers of 1000, Ki, Mi, Gi, Ti of 1024; b is a bit, B a byte.
ParsedQuantity parse_quantity(std::string_view text, Dimension dimension);

// The symbols of units that parse_quantity() knows, "Gb/s" say.
std::vector<std::string_view> units_of(Dimension dimension);

// What a user could write: `"400 Gb/s" or "50 GB/s"`.
std::string_view examples_of(Dimension dimension);

// "3.6 us", "11.57 s": four significant digits.
std::string format_time(Time t);
// "5.83 GiB": three significant digits or more, powers of 1024.
std::string format_bytes(std::uint64_t bytes);
// "1.23 M": powers of 1000; whole below 1000.
std::string format_count(double count);
// "32,768": all digits, in groups of three.
std::string format_grouped(std::uint64_t count);

}  // namespace exawarp::core
