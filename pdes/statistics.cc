#include "pdes/statistics.h"

#include <algorithm>
#include <array>
#include <bit>

namespace exawarp::pdes {
namespace {

// The fields that are maxima; all others are sums.
constexpr std::array kMaxima{&Statistics::longest_rollback, &Statistics::gvt_rounds,
                             &Statistics::pending_peak, &Statistics::history_peak};

}  // namespace

StatisticsWords words_of(const Statistics& statistics) {
  return std::bit_cast<StatisticsWords>(statistics);
}

Statistics combined(const StatisticsWords& sums, const StatisticsWords& maxima) {
  Statistics result = std::bit_cast<Statistics>(sums);
  const Statistics greatest = std::bit_cast<Statistics>(maxima);
  for (const auto field : kMaxima) result.*field = greatest.*field;
  return result;
}

void Statistics::merge(const Statistics& other) {
  StatisticsWords sums = words_of(*this);
  StatisticsWords maxima = sums;
  const StatisticsWords added = words_of(other);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] += added[i];
    maxima[i] = std::max(maxima[i], added[i]);
  }
  *this = combined(sums, maxima);
}

}  // namespace exawarp::pdes
