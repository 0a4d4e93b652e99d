// Inverses of distribution functions in fixed point: logarithms and powers of 2 by tables, straight
// lines between measured points.
#include "model/network/message_sizes.h"

#include <algorithm>

#include "core/check.h"
#include "core/exponential.h"

namespace exawarp::model {
namespace {

using Wide = WideFixed;

constexpr std::uint32_t kQuantiles = 1u << 16;

struct Point {
  std::int64_t bytes;
  std::uint32_t percent;  // of messages are no larger
};
// Sizes of flows in a production cluster that serves web search, figure 4 of Alizadeh et al., "Data
// center TCP (DCTCP)", SIGCOMM 2010, at the points at which congestion control is compared
// (WebSearch_distribution.txt of Li et al., "HPCC", SIGCOMM 2019); straight lines between.
constexpr std::array<Point, 12> kWebSearch{{{0, 0},
                                            {10'000, 15},
                                            {20'000, 20},
                                            {30'000, 30},
                                            {50'000, 40},
                                            {80'000, 53},
                                            {200'000, 60},
                                            {1'000'000, 70},
                                            {2'000'000, 80},
                                            {5'000'000, 90},
                                            {10'000'000, 97},
                                            {30'000'000, 100}}};

constexpr std::uint64_t isqrt(Wide n) {
  Wide root = 0;
  for (Wide bit = Wide{1} << 63; bit != 0; bit >>= 1) {
    if ((root | bit) * (root | bit) <= n) root |= bit;
  }
  return static_cast<std::uint64_t>(root);
}

// 2 to the powers of 1/2, 1/4, ... 2^-32, times 2^62: each the square root of the one before.
constexpr std::array<std::uint64_t, 32> make_roots() {
  std::array<std::uint64_t, 32> roots{};
  std::uint64_t root = std::uint64_t{2} << 62;  // as 2^63
  for (auto& r : roots) {
    root = isqrt(Wide{root} << 62);
    r = root;
  }
  return roots;
}
constexpr std::array<std::uint64_t, 32> kRoots = make_roots();

// ln(bits / 2^64), negated, in 2^-32-ths, of a number that is not 0.
std::uint64_t ln_below(std::uint64_t n) { return core::minus_ln(n); }

std::int64_t web_search(std::uint64_t bits) {
  const std::uint64_t hundredths = static_cast<std::uint64_t>((Wide{bits} * 100) >> 32);
  std::size_t i = 1;
  while (i + 1 < kWebSearch.size() && hundredths >= std::uint64_t{kWebSearch[i].percent} << 32) ++i;
  const Point &below = kWebSearch[i - 1], &above = kWebSearch[i];
  const std::uint64_t width = std::uint64_t{above.percent - below.percent} << 32;
  const std::uint64_t part = hundredths - (std::uint64_t{below.percent} << 32);
  const auto range = static_cast<std::uint64_t>(above.bytes - below.bytes);
  return std::max<std::int64_t>(
      1, below.bytes + static_cast<std::int64_t>(Wide{range} * part / width));
}

}  // namespace

WideFixed exp_fixed(std::uint64_t x) {
  constexpr std::uint64_t kLog2E = 0x171547652;  // 1 / ln 2, times 2^32
  const auto log2 = static_cast<std::uint64_t>((Wide{x} * kLog2E) >> 32);
  std::uint64_t value = std::uint64_t{1} << 62;  // times 2^62
  for (std::size_t i = 0; i < kRoots.size(); ++i) {
    if ((log2 >> (31 - i) & 1) != 0) {
      value = static_cast<std::uint64_t>((Wide{value} * kRoots[i]) >> 62);
    }
  }
  const auto whole = static_cast<std::uint32_t>(log2 >> 32);
  return Wide{value} << whole >> 30;
}

// Bounded Pareto, by its inverse: u falls from 1 to p = (min / max)^alpha as bits rise, and the
// size is min * u^(-1 / alpha) = min * e^(-ln(u) / alpha).
std::int64_t MessageSizes::quantile(std::uint64_t bits) const {
  switch (kind) {
    case SizeKind::fixed:
      return min_bytes;
    case SizeKind::uniform:
      return min_bytes +
             static_cast<std::int64_t>(
                 (Wide{bits} * static_cast<std::uint64_t>(max_bytes - min_bytes + 1)) >> 64);
    case SizeKind::web_search:
      return web_search(bits);
    case SizeKind::pareto:
      break;
  }
  EXAWARP_DCHECK(min_bytes >= 1 && min_bytes <= max_bytes && alpha_milli > 0, min_bytes, max_bytes);
  const std::uint64_t span = ln_below(static_cast<std::uint64_t>(min_bytes)) -
                             ln_below(static_cast<std::uint64_t>(max_bytes));  // ln(max / min)
  const auto alpha = static_cast<std::uint64_t>(alpha_milli);
  const std::uint64_t falls = static_cast<std::uint64_t>(Wide{span} * alpha / 1'000);
  constexpr std::uint64_t kFallsMax = std::uint64_t{44} << 32;
  const Wide whole = Wide{1} << 64;
  const auto p =
      falls >= kFallsMax
          ? 0
          : static_cast<std::uint64_t>(std::min(whole - 1, (whole << 32) / exp_fixed(falls)));
  const std::uint64_t u = ~static_cast<std::uint64_t>((Wide{bits} * ~p) >> 64);
  const std::uint64_t rise =
      std::min(span, static_cast<std::uint64_t>(Wide{core::minus_ln(u)} * 1'000 / alpha));
  const auto size = static_cast<std::int64_t>(
      (Wide{static_cast<std::uint64_t>(min_bytes)} * exp_fixed(rise)) >> 32);
  return std::clamp(size, min_bytes, max_bytes);
}

std::int64_t MessageSizes::mean_bytes() const {
  Wide sum = 0;
  for (std::uint64_t i = 0; i < kQuantiles; ++i) {
    sum += static_cast<std::uint64_t>(quantile((2 * i + 1) << 47));
  }
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(sum / kQuantiles));
}

}  // namespace exawarp::model
