// Simulated time: a signed 64-bit count of picoseconds.
// Why an integer: sums are exact and do not depend on their order, so that a result is the same
// in every mode and on every number of ranks (docs/architecture.md, "determinism").
//
// Simulated time ends at kEndOfTime, 53 days: no event is executed there or later, and a run that
// has one left is refused (pdes/engine.h). What users choose (sizes, rates, durations) can ask for
// more, so what comes of it is added by sum_to_end() and its like, which stop at the end and so
// keep every time, and the sum of any time and a delay, within 64 bits. The plain operators are for
// what cannot pass them: in the dev, asan and tsan presets they check it.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace exawarp::core {

namespace detail {
// Ends the process as a failed check does.
[[noreturn]] void time_overflowed(const char* operation, std::int64_t a, std::int64_t b);

#ifdef EXAWARP_CHECKED
constexpr std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) time_overflowed("+", a, b);
  return result;
}
constexpr std::int64_t minus(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_sub_overflow(a, b, &result)) time_overflowed("-", a, b);
  return result;
}
constexpr std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) time_overflowed("*", a, b);
  return result;
}
#else
constexpr std::int64_t plus(std::int64_t a, std::int64_t b) { return a + b; }
constexpr std::int64_t minus(std::int64_t a, std::int64_t b) { return a - b; }
constexpr std::int64_t times(std::int64_t a, std::int64_t b) { return a * b; }
#endif
}  // namespace detail

// A point in simulated time, or the distance between two.
struct Time {
  std::int64_t ps = 0;

  static constexpr Time max() { return Time{std::numeric_limits<std::int64_t>::max()}; }

  friend constexpr auto operator<=>(Time, Time) = default;
  friend constexpr Time operator+(Time a, Time b) { return Time{detail::plus(a.ps, b.ps)}; }
  friend constexpr Time operator-(Time a, Time b) { return Time{detail::minus(a.ps, b.ps)}; }
  friend constexpr Time operator*(Time a, std::int64_t n) { return Time{detail::times(a.ps, n)}; }
  friend constexpr Time operator*(std::int64_t n, Time a) { return a * n; }
  constexpr Time& operator+=(Time b) { return *this = *this + b; }
  constexpr Time& operator-=(Time b) { return *this = *this - b; }
};

constexpr std::int64_t kPicosecondsPerSecond = 1'000'000'000'000;

// No event is executed at this time or later. Time::max() is none at all: it stands for "never".
constexpr Time kEndOfTime{std::int64_t{1} << 62};
constexpr const char* kEndOfTimeText = "53 days";

// a + b, or Time::max() where the sum would pass it. Requires b >= 0.
constexpr Time saturating_add(Time a, Time b) {
  return a > Time::max() - b ? Time::max() : a + b;
}

constexpr double to_seconds(Time t) {
  return static_cast<double>(t.ps) / static_cast<double>(kPicosecondsPerSecond);
}

// a + b, or kEndOfTime where that is earlier. Requires a >= 0 and b >= 0.
constexpr Time sum_to_end(Time a, Time b) { return a > kEndOfTime - b ? kEndOfTime : a + b; }

// A duration computed in 128 bits, or kEndOfTime where that is less. Requires ps >= 0.
__extension__ using WidePs = __int128;
constexpr Time time_to_end(WidePs ps) {
  return ps > kEndOfTime.ps ? kEndOfTime : Time{static_cast<std::int64_t>(ps)};
}

// n * a, or kEndOfTime where that is less. Requires a >= 0 and n >= 0.
constexpr Time product_to_end(std::int64_t n, Time a) {
  return time_to_end(static_cast<WidePs>(a.ps) * n);
}

// The time `bytes` take at `bytes_per_s`, rounded up to a whole picosecond, or kEndOfTime where
// that is less. Exact for any size. Requires bytes >= 0 and bytes_per_s > 0.
constexpr Time transfer_time(std::int64_t bytes, std::int64_t bytes_per_s) {
  // A division of 64 bits where the product fits: several times faster, and messages are small.
  constexpr std::int64_t kFits = kEndOfTime.ps - 1;
  if (bytes <= kFits / kPicosecondsPerSecond && bytes_per_s <= kFits)
    return Time{(bytes * kPicosecondsPerSecond + bytes_per_s - 1) / bytes_per_s};
  const WidePs scaled = static_cast<WidePs>(bytes) * kPicosecondsPerSecond;
  return time_to_end((scaled + bytes_per_s - 1) / bytes_per_s);
}

namespace literals {
constexpr Time operator""_ps(unsigned long long n) { return Time{static_cast<std::int64_t>(n)}; }
constexpr Time operator""_ns(unsigned long long n) { return 1'000 * operator""_ps(n); }
constexpr Time operator""_us(unsigned long long n) { return 1'000 * operator""_ns(n); }
constexpr Time operator""_ms(unsigned long long n) { return 1'000 * operator""_us(n); }
constexpr Time operator""_s(unsigned long long n) { return 1'000 * operator""_ms(n); }
}  // namespace literals

}  // namespace exawarp::core
