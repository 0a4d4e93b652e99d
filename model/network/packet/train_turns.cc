#include "model/network/packet/train_turns.h"

#include <algorithm>
#include <limits>

namespace exawarp::model {

using core::Time;
using Passing = std::span<const PassingTrain>;

TrainTurns::TrainTurns(Passing passing, Time free, Time wire) {
  if (passing.empty() || passing.size() > kTrainsMax) return;
  if (!put_in_order(passing) || !find_period(passing, free, wire)) return;
  trains_ = static_cast<std::uint32_t>(passing.size());
  find_end(passing);
}

// Returns whether each has one packet before any has its second.
bool TrainTurns::put_in_order(Passing passing) {
  const auto n = static_cast<std::uint32_t>(passing.size());
  for (std::uint32_t i = 0; i < n; ++i) {
    if (passing[i].spacing != passing[0].spacing) return false;
    turns_[i].train = i;
  }
  std::sort(turns_.begin(), turns_.begin() + n, [&](const Turn& a, const Turn& b) {
    return is_before(passing[a.train], passing[b.train]);
  });
  PassingTrain again = passing[turns_[0].train];
  if (again.spacing >= core::kEndOfTime - again.next) return false;
  again.next += again.spacing;
  return is_before(passing[turns_[n - 1].train], again);
}

bool TrainTurns::find_period(Passing passing, Time free, Time wire) {
  const auto n = static_cast<std::uint32_t>(passing.size());
  const Time spacing = passing[0].spacing;
  for (std::uint32_t p = 0; p < n; ++p) {
    turns_[p].start = std::max(free, passing[turns_[p].train].ready());
    free = core::sum_to_end(turns_[p].start, wire);
  }
  for (std::uint32_t p = 0; p < n; ++p) {
    const Time ready = core::sum_to_end(passing[turns_[p].train].ready(), spacing);
    const Time start = std::max(free, ready);
    if (start >= core::kEndOfTime) return false;
    if (p == 0) period_ = start - turns_[p].start;
    if (start - turns_[p].start != period_) return false;
    free = core::sum_to_end(start, wire);
  }
  return true;
}

void TrainTurns::find_end(Passing passing) {
  ends_ = std::numeric_limits<std::int64_t>::max();
  const Time spacing = passing[0].spacing;
  for (std::uint32_t p = 0; p < trains_; ++p) {
    const PassingTrain& train = passing[turns_[p].train];
    ends_ = std::min(ends_, p + std::int64_t{train.left} * trains_);
    if (period_ >= spacing) continue;
    const std::int64_t rounds =
        (turns_[p].start - train.ready()).ps / (spacing - period_).ps + 1;
    ends_ = std::min(ends_, rounds * trains_);
  }
}

}  // namespace exawarp::model
