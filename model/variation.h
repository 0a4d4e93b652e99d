// Random factors of mean 1: what varies from one run of a kernel, or one way through a network, to
// the next. A factor is a pure function of random bits, in integers, so every machine draws the
// same.
//
//   normal       1 + sigma c / sqrt(v), c the centred sum of four uniform 16-bit integers
//                (Irwin-Hall of order 4), v its variance: near normal, cut off at 3.4641 sigma
//   uniform      within 1 +- sqrt(3) sigma
//   lognormal    exp(y z) / mean, y^2 = ln(1 + sigma^2), z the sum of sixteen uniform numbers: near
//                normal, cut off at 6.93 deviations; median below 1, tail upwards
//   exponential  1 - sigma + sigma E, E exponential with mean 1: never below 1 - sigma, long tail
//
// The mean is exactly 1 and the standard deviation exactly sigma for the first two except for
// rounding; within 1e-6 for the others (deviation of lognormal: within 1 % up to sigma 1).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/names.h"

namespace exawarp::model {

enum class Distribution : std::uint8_t { normal, uniform, lognormal, exponential };

inline constexpr core::Named<Distribution> kDistributionNames[] = {
    {"normal", Distribution::normal},
    {"uniform", Distribution::uniform},
    {"lognormal", Distribution::lognormal},
    {"exponential", Distribution::exponential}};
constexpr std::span<const core::Named<Distribution>> names_of(Distribution) {
  return kDistributionNames;
}
static_assert(core::names_each(kDistributionNames));

// A plain number is the deviation of a normal distribution.
struct VariationSpec {
  constexpr VariationSpec(double sigma = 0, Distribution of = Distribution::normal)
      : distribution(of), deviation(sigma) {}
  Distribution distribution;
  double deviation;  // sigma: standard deviation over mean
};

// The largest sigma: factors stay positive.
constexpr double deviation_max(Distribution d) {
  constexpr std::array kMost{0.25, 0.5, 2.0, 1.0};
  return kMost[static_cast<std::size_t>(d)];
}

class Variation {
 public:
  // Requires 0 <= deviation <= deviation_max().
  explicit Variation(const VariationSpec& spec);

  [[nodiscard]] bool off() const { return off_; }
  // `value`, in picoseconds, times the factor that these bits draw, rounded to the nearest, or
  // kEndOfTime where that is less. Requires value >= 0.
  [[nodiscard]] std::int64_t scaled(std::int64_t value, std::uint64_t bits) const;
  // No less than scaled(value, bits) for value >= 0, and much cheaper.
  [[nodiscard]] std::int64_t scaled_at_most(std::int64_t value, std::uint64_t bits) const;

 private:
  [[nodiscard]] std::int64_t centred(std::int64_t value, std::int64_t c) const;
  [[nodiscard]] std::uint64_t lognormal(std::uint64_t bits) const;  // in units of 2^-32

  Distribution distribution_;
  bool off_;
  std::int64_t scale_ = 0;   // normal, uniform: sigma / sqrt(v) in units of 2^-48; others: 2^-32
  std::int64_t most_ = 0;    // of any factor, but exponential; in units of 2^-32, rounded up
  std::int64_t offset_ = 0;  // lognormal: the logarithm of the mean of exp(y z), units of 2^-32
};

}  // namespace exawarp::model
