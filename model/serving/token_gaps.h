// Times from one token of a request to its next (inter-token latency), counted by their length.
//
// A gap is from the end of the batch that gave a request its last token until the end of the one
// that gives it the next: waiting for blocks, restarts and the way to another pool are in it. With
// drafts a batch may give several tokens, which come together and are one.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "core/time.h"

namespace exawarp::pdes {
class Transport;
}  // namespace exawarp::pdes

namespace exawarp::model::serving {

// Bins: each power of two from 2^20 ps (1 us) to 2^50 ps (19 minutes) is split into 16, what is
// below into 16 equal ones; so a bin is at most 1/16 of its times wide. What is longer is in the
// last.
constexpr std::uint32_t kGapBinsLog2 = 4, kGapLeastLog2 = 20, kGapMostLog2 = 50;
constexpr std::uint32_t kGapBins = (kGapMostLog2 - kGapLeastLog2 + 1) << kGapBinsLog2;

// Requires gap_ps >= 0.
[[nodiscard]] constexpr std::uint32_t gap_bin_of(std::int64_t gap_ps) {
  const auto ps = static_cast<std::uint64_t>(gap_ps);
  const auto log2 = static_cast<std::uint32_t>(std::bit_width(ps)) - 1;
  if (ps < std::uint64_t{1} << kGapLeastLog2)
    return static_cast<std::uint32_t>(ps >> (kGapLeastLog2 - kGapBinsLog2));
  if (log2 >= kGapMostLog2) return kGapBins - 1;
  const std::uint64_t within = ps >> (log2 - kGapBinsLog2);  // 16 to 31
  return ((log2 - kGapLeastLog2) << kGapBinsLog2) + static_cast<std::uint32_t>(within);
}

// The least gap of a bin, in picoseconds; of kGapBins the end of the last one. Requires bin <=
// kGapBins.
[[nodiscard]] constexpr std::int64_t gap_bin_begin_ps(std::uint32_t bin) {
  constexpr std::uint32_t kSplit = 1u << kGapBinsLog2;
  if (bin < kSplit) return std::int64_t{bin} << (kGapLeastLog2 - kGapBinsLog2);
  const std::uint32_t octave = bin / kSplit - 1;
  return std::int64_t{kSplit + bin % kSplit} << (kGapLeastLog2 + octave - kGapBinsLog2);
}

// Over some replicas.
struct TokenGaps {
  std::array<std::uint64_t, kGapBins> counts{};  // by bin
  std::uint64_t sum_us = 0;
  std::uint64_t most_ps = 0;

  void add(const TokenGaps& other);
  // Over all ranks; collective.
  void combine(pdes::Transport& transport);

  [[nodiscard]] std::uint64_t count() const;
  // 0 where there are none.
  [[nodiscard]] core::Time mean() const;
  // To within the width of a bin, in which gaps are taken to lie evenly, and never more than the
  // longest; 0 where there are none. Requires percent <= 100.
  [[nodiscard]] core::Time percentile(std::uint32_t percent) const;
};

}  // namespace exawarp::model::serving
