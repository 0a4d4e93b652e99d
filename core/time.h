// Simulated time: a signed 64-bit count of picoseconds, which spans 106 days.
// Why an integer: sums are exact and do not depend on their order, so that a result is the same
// in every mode and on every number of ranks (docs/architecture.md, "determinism").
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace exawarp::core {

// A point in simulated time, or the distance between two.
struct Time {
  std::int64_t ps = 0;

  static constexpr Time max() { return Time{std::numeric_limits<std::int64_t>::max()}; }

  friend constexpr auto operator<=>(Time, Time) = default;
  friend constexpr Time operator+(Time a, Time b) { return Time{a.ps + b.ps}; }
  friend constexpr Time operator-(Time a, Time b) { return Time{a.ps - b.ps}; }
  friend constexpr Time operator*(Time a, std::int64_t n) { return Time{a.ps * n}; }
  friend constexpr Time operator*(std::int64_t n, Time a) { return a * n; }
  constexpr Time& operator+=(Time b) { return *this = *this + b; }
  constexpr Time& operator-=(Time b) { return *this = *this - b; }
};

constexpr std::int64_t kPicosecondsPerSecond = 1'000'000'000'000;

// a + b, or Time::max() where the sum would pass it. Requires b >= 0.
constexpr Time saturating_add(Time a, Time b) {
  return a > Time::max() - b ? Time::max() : a + b;
}

constexpr double to_seconds(Time t) {
  return static_cast<double>(t.ps) / static_cast<double>(kPicosecondsPerSecond);
}

// The time `bytes` take at `bytes_per_s`, rounded up to a whole picosecond, exact for any size.
// Requires bytes >= 0 and bytes_per_s > 0. The 128-bit product cannot overflow.
constexpr Time transfer_time(std::int64_t bytes, std::int64_t bytes_per_s) {
  // A division of 64 bits where the product fits: several times faster, and messages are small.
  constexpr std::int64_t kHalf = std::numeric_limits<std::int64_t>::max() / 2;
  if (bytes <= kHalf / kPicosecondsPerSecond && bytes_per_s <= kHalf)
    return Time{(bytes * kPicosecondsPerSecond + bytes_per_s - 1) / bytes_per_s};
  __extension__ using Wide = __int128;
  const Wide scaled = static_cast<Wide>(bytes) * kPicosecondsPerSecond;
  return Time{static_cast<std::int64_t>((scaled + bytes_per_s - 1) / bytes_per_s)};
}

namespace literals {
constexpr Time operator""_ps(unsigned long long n) { return Time{static_cast<std::int64_t>(n)}; }
constexpr Time operator""_ns(unsigned long long n) { return 1'000 * operator""_ps(n); }
constexpr Time operator""_us(unsigned long long n) { return 1'000 * operator""_ns(n); }
constexpr Time operator""_ms(unsigned long long n) { return 1'000 * operator""_us(n); }
constexpr Time operator""_s(unsigned long long n) { return 1'000 * operator""_ms(n); }
}  // namespace literals

}  // namespace exawarp::core
