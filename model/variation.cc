// The distributions in fixed-point integers. exp is a Taylor series and the logarithm core's, since
// a C library's differ between machines.
#include "model/variation.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/exponential.h"
#include "core/random.h"
#include "core/time.h"

namespace exawarp::model {
namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t kOne = std::int64_t{1} << 32;
constexpr std::uint64_t kLevels = 1u << 16;  // of a uniform 16-bit integer

double variance_of(Distribution d) {
  const double of_one = (static_cast<double>(kLevels) * static_cast<double>(kLevels) - 1) / 12;
  return d == Distribution::normal ? 4 * of_one : of_one;
}

std::int64_t to_end(Wide ps) { return core::time_to_end(ps).ps; }

// ln(1 + x) in units of 2^-32, for x >= 0, by integers.
std::int64_t log1p_fixed(double x) {
  const double share = 0x1p64 / (1 + x);
  if (share >= 0x1p64) return 0;
  return static_cast<std::int64_t>(core::minus_ln(static_cast<std::uint64_t>(share)));
}

// exp(y) in units of 2^-32, for y in units of 2^-32 and |y| < 20: 2^whole times a Taylor series of
// the rest, whose tenth term is below 2^-40.
std::uint64_t exp_q32(std::int64_t y) {
  constexpr std::int64_t kLn2 = 0xb17217f8;  // ln 2 * 2^32
  std::int64_t whole = y / kLn2;
  if (y % kLn2 < 0) --whole;
  const std::int64_t rest = y - whole * kLn2;  // [0, ln 2)
  std::int64_t sum = kOne;
  for (std::int64_t k = 10; k > 0; --k) {
    sum = kOne + static_cast<std::int64_t>(static_cast<Wide>(sum) * rest / k >> 32);
  }
  const auto result = static_cast<std::uint64_t>(sum);
  return whole >= 0 ? result << std::min<std::int64_t>(whole, 30)
                    : result >> std::min<std::int64_t>(-whole, 63);
}

}  // namespace

Variation::Variation(const VariationSpec& spec)
    : distribution_(spec.distribution), off_(spec.deviation == 0) {
  const double sigma = spec.deviation;
  switch (distribution_) {
    case Distribution::normal:
    case Distribution::uniform:
      scale_ = std::llround(sigma / std::sqrt(variance_of(distribution_)) * 0x1p48);
      most_ = std::llround((1.001 + 3.4642 * sigma) * 0x1p32);
      break;
    case Distribution::exponential:
      scale_ = std::llround(sigma * 0x1p32);
      break;
    case Distribution::lognormal: {
      const double y = std::sqrt(static_cast<double>(log1p_fixed(sigma * sigma)) * 0x1p-32);
      scale_ = std::llround(y * 0x1p32);
      // The mean of exp(y z): (sinh(a) / a)^16, a = y sqrt(3 / 16); ln(sinh(a) / a) as a series.
      const double a2 = y * y * 3 / 16;
      const double log_of_one = a2 / 6 - a2 * a2 / 180 + a2 * a2 * a2 / 2835;
      offset_ = std::llround(16 * log_of_one * 0x1p32);
      most_ = static_cast<std::int64_t>(
          exp_q32(std::llround(6.94 * y * 0x1p32) - offset_ + kOne / 1'000));
      break;
    }
  }
}

std::int64_t Variation::centred(std::int64_t value, std::int64_t c) const {
  const Wide scaled = static_cast<Wide>(value) * (c * scale_);
  return to_end(value + ((scaled + (Wide{1} << 47)) >> 48));
}

std::uint64_t Variation::lognormal(std::uint64_t bits) const {
  std::int64_t sum = -8 * (std::int64_t{kLevels} - 1);  // of 16 uniform integers
  for (std::uint64_t word = 0; word < 4; ++word) {
    const std::uint64_t more = core::random_bits(bits, word);
    for (int i = 0; i < 4; ++i) sum += static_cast<std::int64_t>(more >> (16 * i) & 0xffff);
  }
  // The variance of the sum is 16 (2^32 - 1) / 12; one over its root, in units of 2^-48.
  constexpr std::int64_t kOverRoot = 3'719'550'787;
  const auto z = static_cast<std::int64_t>(static_cast<Wide>(sum) * kOverRoot >> 16);
  return exp_q32(static_cast<std::int64_t>(static_cast<Wide>(z) * scale_ >> 32) - offset_);
}

std::int64_t Variation::scaled_at_most(std::int64_t value, std::uint64_t bits) const {
  Wide most = most_;
  if (distribution_ == Distribution::exponential) {
    constexpr std::int64_t kLn2 = 0xb17217f8;  // ln 2 * 2^32, rounded up
    most =
        kOne - scale_ + (static_cast<Wide>(scale_) * (std::countl_zero(bits | 1) + 1) * kLn2 >> 32);
  }
  return to_end((value * most >> 32) + 1);
}

std::int64_t Variation::scaled(std::int64_t value, std::uint64_t bits) const {
  switch (distribution_) {
    case Distribution::normal: {
      std::int64_t sum = -2 * (std::int64_t{kLevels} - 1);
      for (int i = 0; i < 4; ++i) sum += static_cast<std::int64_t>(bits >> (16 * i) & 0xffff);
      return centred(value, sum);
    }
    case Distribution::uniform: {
      // Twice the centred integer would be odd; half of the last step decides which way it goes.
      const auto level = static_cast<std::int64_t>(bits >> 48);
      const std::int64_t low = -(std::int64_t{kLevels} / 2) + static_cast<std::int64_t>(bits & 1);
      return centred(value, level + low);
    }
    case Distribution::exponential: {
      const Wide factor = kOne - scale_ + (static_cast<Wide>(scale_) * core::minus_ln(bits) >> 32);
      return to_end((value * factor + (Wide{1} << 31)) >> 32);
    }
    case Distribution::lognormal:
      break;
  }
  return to_end((static_cast<Wide>(value) * lognormal(bits) + (Wide{1} << 31)) >> 32);
}

}  // namespace exawarp::model
