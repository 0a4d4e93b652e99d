#include "model/serving/token_gaps.h"

#include <algorithm>
#include <numeric>

#include "pdes/transport.h"

namespace exawarp::model::serving {

void TokenGaps::add(const TokenGaps& other) {
  for (std::uint32_t bin = 0; bin < kGapBins; ++bin) counts[bin] += other.counts[bin];
  sum_us += other.sum_us;
  most_ps = std::max(most_ps, other.most_ps);
}

void TokenGaps::combine(pdes::Transport& transport) {
  transport.all_reduce_sum(counts);
  transport.all_reduce_sum({&sum_us, 1});
  transport.all_reduce_max({&most_ps, 1});
}

std::uint64_t TokenGaps::count() const {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

core::Time TokenGaps::mean() const {
  const std::uint64_t all = count();
  if (all == 0) return {};
  return core::time_to_end(core::WidePs{sum_us} * 1'000'000 / all);
}

core::Time TokenGaps::percentile(std::uint32_t percent) const {
  const std::uint64_t all = count();
  if (all == 0) return {};
  const core::Time most{static_cast<std::int64_t>(most_ps)};
  // Of `all` gaps in order, the one at this place; in hundredths, to stay among integers.
  const core::WidePs place = core::WidePs{all - 1} * percent;
  core::WidePs before = 0;
  for (std::uint32_t bin = 0; bin < kGapBins; ++bin) {
    const core::WidePs here = core::WidePs{counts[bin]} * 100;
    if (place < before + here) {
      const std::int64_t begin = gap_bin_begin_ps(bin), width = gap_bin_begin_ps(bin + 1) - begin;
      const core::WidePs middle = place - before + 50;  // of its share of the bin
      return std::min(most, core::time_to_end(begin + width * middle / here));
    }
    before += here;
  }
  return most;
}

}  // namespace exawarp::model::serving
