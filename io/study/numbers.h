// Numbers that users write, and the ranges that they have to be in. The only place that compares a
// real number with its bounds: neither NaN nor an infinity is in any range.
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace exawarp::io {

struct IntegerRange {
  std::int64_t min = 0;
  std::int64_t max = std::int64_t{1} << 53;

  [[nodiscard]] bool contains(std::int64_t value) const { return value >= min && value <= max; }
  // "a whole number from 1 to 8"; a bound that is the default goes without saying.
  [[nodiscard]] std::string expected() const;
};

struct RealRange {
  double min = 0;
  double max = std::numeric_limits<double>::max();
  bool min_excluded = false;  // (min, ... instead of [min, ...
  bool max_excluded = false;

  [[nodiscard]] bool contains(double value) const;
  // "a number in [0, 1)", "a number > 0".
  [[nodiscard]] std::string expected() const;
};

// The number that `text` is as a whole, with or without a "+" before it.
template <class T>
std::optional<T> number_from(std::string_view text) {
  T value{};
  if (text.size() > 1 && text[0] == '+') text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

// The same for what a command line may hold: also "0x1f".
std::optional<std::uint64_t> unsigned_from(std::string_view text);

}  // namespace exawarp::io
