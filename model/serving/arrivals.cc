#include "model/serving/arrivals.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/exponential.h"
#include "core/random.h"

namespace exawarp::model::serving {
namespace {

using core::Time;

constexpr std::uint64_t kArrivalStream = 0x6172726976616c;

// A number in (0, 1).
double uniform(std::uint64_t bits) {
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
}

// Draws of one request, as many as it takes.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t request)
      : stream_(core::stream_of(seed, kArrivalStream, request)) {}
  double operator()() { return uniform(core::random_bits(stream_, number_++)); }

 private:
  std::uint64_t stream_, number_ = 0;
};

double normal(Draws& draws) {
  const double radius = std::sqrt(-2 * std::log(draws()));
  return radius * std::cos(2 * std::numbers::pi * draws());
}

// Of mean `shape`, shape >= 1: G. Marsaglia, W. W. Tsang, ACM Trans. Math. Softw. 26 (2000) 363.
double gamma_from_one(double shape, Draws& draws) {
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal(draws), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(draws()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

// Of mean 1.
double gamma_of(double variation, Draws& draws) {
  const double shape = 1 / (variation * variation);
  if (shape >= 1) return gamma_from_one(shape, draws) / shape;
  const double boost = std::pow(draws(), 1 / shape);  // the same paper, section 6
  return gamma_from_one(shape + 1, draws) * boost / shape;
}

Time interval_of(const ArrivalSpec& spec, Time mean, std::uint64_t request, std::uint64_t seed) {
  switch (spec.kind) {
    case Arrivals::poisson:
      return core::exponential(
          mean, core::random_bits(core::stream_of(seed, kArrivalStream, 0), request));
    case Arrivals::gamma: {
      constexpr double kPsPerNs = 1'000;
      Draws draws(seed, request + 1);
      const double ps = static_cast<double>(mean.ps) * gamma_of(spec.variation, draws);
      const double ns = std::min(std::round(ps / kPsPerNs), 9e15);
      return Time{static_cast<std::int64_t>(ns) * 1'000};
    }
    case Arrivals::constant:
    case Arrivals::trace:
      break;
  }
  return mean;
}

}  // namespace

std::vector<Time> draw_arrivals(const ArrivalSpec& spec, std::uint64_t count, std::uint64_t seed) {
  const Time mean{std::llround(static_cast<double>(core::kPicosecondsPerSecond) / spec.rate)};
  std::vector<Time> out;
  out.reserve(count);
  Time at{0};
  for (std::uint64_t i = 0; i < count; ++i) {
    at = core::sum_to_end(at, interval_of(spec, mean, i, seed));
    out.push_back(at);
  }
  return out;
}

std::vector<std::uint32_t> draw_lengths(const LengthSpec& spec, std::uint64_t count, LengthOf of,
                                        std::uint64_t seed) {
  constexpr std::uint64_t kLengthStream = 0x6c656e677468;
  const std::uint64_t stream =
      core::stream_of(seed, kLengthStream, static_cast<std::uint64_t>(of));
  if (spec.kind == Lengths::fixed) return std::vector<std::uint32_t>(count, spec.tokens);
  const std::uint32_t width = spec.most - spec.least + 1;
  std::vector<double> up_to;  // of zipf: sums of the weights
  double sum = 0;
  for (std::uint32_t k = 0; spec.kind == Lengths::zipf && k < width; ++k) {
    up_to.push_back(sum += std::pow(k + 1.0, -spec.exponent));
  }
  std::vector<std::uint32_t> out;
  out.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t bits = core::random_bits(stream, i);
    if (spec.kind == Lengths::uniform) {
      out.push_back(spec.least + static_cast<std::uint32_t>(bits % width));
      continue;
    }
    const auto found = std::ranges::upper_bound(up_to, uniform(bits) * sum);
    const auto k = std::min<std::int64_t>(found - up_to.begin(), width - 1);
    out.push_back(spec.least + static_cast<std::uint32_t>(k));
  }
  return out;
}

}  // namespace exawarp::model::serving
