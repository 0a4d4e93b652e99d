// When requests come and how long they are, drawn by a seed: the n-th depends on nothing but the
// seed, n and, where intervals are added up, those before it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/names.h"
#include "core/time.h"

namespace exawarp::model::serving {

enum class Arrivals { trace, poisson, gamma, constant };
inline constexpr core::Named<Arrivals> kArrivalNames[] = {{"trace", Arrivals::trace},
                                                          {"poisson", Arrivals::poisson},
                                                          {"gamma", Arrivals::gamma},
                                                          {"static", Arrivals::constant}};
constexpr std::span<const core::Named<Arrivals>> names_of(Arrivals) { return kArrivalNames; }
static_assert(core::names_each(kArrivalNames));

struct ArrivalSpec {
  Arrivals kind = Arrivals::poisson;  // not trace
  double rate = 1;                    // requests per second, > 0
  double variation = 1;               // of gamma: deviation of an interval over its mean, > 0
};

// In order; the first comes after one interval. Intervals of gamma are rounded to a nanosecond,
// since the C library's logarithms may differ in their last bit between processors.
[[nodiscard]] std::vector<core::Time> draw_arrivals(const ArrivalSpec& spec, std::uint64_t count,
                                                    std::uint64_t seed);

enum class Lengths { fixed, uniform, zipf };
inline constexpr core::Named<Lengths> kLengthNames[] = {
    {"fixed", Lengths::fixed}, {"uniform", Lengths::uniform}, {"zipf", Lengths::zipf}};
constexpr std::span<const core::Named<Lengths>> names_of(Lengths) { return kLengthNames; }
static_assert(core::names_each(kLengthNames));

struct LengthSpec {
  Lengths kind = Lengths::fixed;
  std::uint32_t tokens = 256;   // of fixed, >= 1
  std::uint32_t least = 1;      // of uniform and zipf, >= 1
  std::uint32_t most = 1024;    // >= least
  double exponent = 1;          // of zipf: least + k with a weight of (k + 1)^-exponent, >= 0
};

enum class LengthOf : std::uint64_t { prompt, output };

[[nodiscard]] std::vector<std::uint32_t> draw_lengths(const LengthSpec& spec, std::uint64_t count,
                                                      LengthOf of, std::uint64_t seed);

}  // namespace exawarp::model::serving
