#include "model/compute/rank_noise.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace exawarp::model {
namespace {

constexpr std::int64_t kBillion = 1'000'000'000;

double above(double z) { return std::erfc(z / std::numbers::sqrt2) / 2; }  // 1 - Phi(z)

// How far a replica lies above the mean whose noise has the quantile of a standard normal `z`.
double lag_at(const VariationSpec& noise, double z) {
  const double sigma = noise.deviation;
  switch (noise.distribution) {
    case Distribution::normal:
      return sigma * z;
    case Distribution::uniform:
      return sigma * std::numbers::sqrt3 * (1 - 2 * above(z));
    case Distribution::lognormal: {
      const double square = std::log1p(sigma * sigma);
      return std::exp(std::sqrt(square) * z - square / 2) - 1;
    }
    case Distribution::exponential:
      return sigma * (-std::log(above(z)) - 1);
  }
  return 0;
}

}  // namespace

// By the rule of rectangles, which is exact to rounding for smooth functions that vanish at both
// ends. Rounding to 1e-9 hides what mathematical libraries differ by.
std::int64_t slowest_lag_ppb(const VariationSpec& noise, std::uint32_t replicas) {
  if (noise.deviation == 0 || replicas == 1) return 0;
  constexpr double kFrom = -12, kTo = 12, kStep = 1.0 / 128;
  const double n = replicas;
  double sum = 0;
  for (double z = kFrom; z <= kTo; z += kStep) {
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
    const double others = std::exp((n - 1) * std::log1p(-above(z)));
    sum += lag_at(noise, z) * n * density * others;
  }
  return std::llround(std::max(0.0, sum * kStep) * static_cast<double>(kBillion));
}

core::Time lagged(core::Time duration, std::int64_t lag_ppb) {
  if (lag_ppb == 0) return duration;
  const core::WidePs longer = core::WidePs{duration.ps} * (kBillion + lag_ppb) / kBillion;
  return core::time_to_end(longer);
}

}  // namespace exawarp::model
