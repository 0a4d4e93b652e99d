// How large background messages are: a seeded distribution, in integers alone, so that all ranks
// draw the same bytes on any machine (core/exponential.h says why).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/names.h"

namespace exawarp::model {

enum class SizeKind : std::uint8_t {
  fixed,       // min_bytes
  uniform,     // min_bytes to max_bytes
  pareto,      // bounded: P(size > x) as x^-alpha, from min_bytes to max_bytes
  web_search,  // flows of a web search cluster (message_sizes.cc has the table and its source)
};

inline constexpr core::Named<SizeKind> kSizeKindNames[] = {{"fixed", SizeKind::fixed},
                                                           {"uniform", SizeKind::uniform},
                                                           {"pareto", SizeKind::pareto},
                                                           {"web_search", SizeKind::web_search}};
constexpr std::span<const core::Named<SizeKind>> names_of(SizeKind) { return kSizeKindNames; }
static_assert(core::names_each(kSizeKindNames));

struct MessageSizes {
  SizeKind kind = SizeKind::fixed;
  std::int64_t min_bytes = 64 << 10;
  std::int64_t max_bytes = 64 << 10;
  std::int64_t alpha_milli = 1'200;  // pareto: a thousand times alpha

  // The size below which a share of bits / 2^64 of all messages are.
  [[nodiscard]] std::int64_t quantile(std::uint64_t bits) const;
  // Over 2^16 quantiles.
  [[nodiscard]] std::int64_t mean_bytes() const;
};

__extension__ typedef unsigned __int128 WideFixed;

// e to the power of x / 2^32, in 2^-32-ths. Requires x <= 44 * 2^32. Error: below 2^-27 of the
// value.
WideFixed exp_fixed(std::uint64_t x);

}  // namespace exawarp::model
