#include "pdes/window.h"

#include <algorithm>
#include <limits>

namespace exawarp::pdes {
namespace {

// What an epoch of a partition aims at: a history that stays in the first and second level of
// cache, and at most one that still fits the second.
constexpr std::uint64_t kAimLeast = 1024;
constexpr std::uint64_t kAimMost = 8 * kAimLeast;
// Where workers wait for longer than they work, whatever cache misses cost is less: between
// machines 1 ms apart, half of a run of llama3_405b_4k (docs/laboratory/hosts.md).
constexpr std::uint64_t kAimBeyond = 16 * kAimMost;
constexpr std::uint64_t kLimitPerAim = 4;
// What undoing an event costs beyond executing it again: its share of finding and walking the
// chain, in cold cache lines. PHOLD, 65,536 LPs, two threads: 1.2 to 1.7 us.
constexpr std::uint64_t kUndoneEventNs = 1500;
// Events of a worker in one lookahead from which on an epoch costs less than what it saves, a tenth
// of each event: two threads lose 2 us an epoch, two ranks 30.
constexpr std::uint64_t kDense = 256;
constexpr std::uint64_t kDenseAmongRanks = 16 * kDense;
constexpr core::Time kSpanMax{core::kPicosecondsPerSecond * 3600};

}  // namespace

Window::Window(const WindowSetup& setup)
    : setup_(setup), aim_(kAimLeast), event_limit_(kLimitPerAim * kAimLeast) {
  if (setup_.conservative) {
    span_ = setup_.partitions == 1 ? kSpanMax : setup_.lookahead;
    event_limit_ = setup_.partitions == 1 ? 16 * event_limit_
                                          : std::numeric_limits<std::uint64_t>::max();
  } else {
    span_ = setup_.fixed > core::Time{0} ? setup_.fixed : setup_.lookahead * 4;
  }
}

// Slowly, as a single epoch's loss says little.
void Window::aim_at(std::uint64_t busy_ns, std::uint64_t lost_ns) {
  const bool idle = busy_ns == 0;  // longer epochs would find nothing to do either
  if (lost_ns > busy_ns && !idle)
    aim_ = std::min(aim_ + aim_ / 16, kAimBeyond);
  else if (aim_ > kAimMost)
    aim_ = lost_ns * 2 < busy_ns ? std::max(aim_ - aim_ / 16, kAimMost) : aim_;
  else if (lost_ns * 4 > busy_ns)
    aim_ = std::min(aim_ + aim_ / 16, kAimMost);
  else if (lost_ns * 8 < busy_ns)
    aim_ = std::max(aim_ - aim_ / 16, kAimLeast);
  event_limit_ = kLimitPerAim * aim_;
}

// As dense as in the last epoch.
bool Window::lookahead_is_enough(std::uint64_t executed) const {
  const std::uint64_t enough =
      (setup_.among_ranks ? kDenseAmongRanks : kDense) * std::uint64_t{setup_.workers};
  return static_cast<double>(executed) * static_cast<double>(setup_.lookahead.ps) >
         static_cast<double>(enough) * static_cast<double>(span_.ps);
}

void Window::update(const WindowTotals& totals) {
  const std::uint64_t executed = totals.processed - before_.processed;
  const std::uint64_t undone = totals.rolled_back - before_.rolled_back;
  const std::uint64_t busy_ns = totals.busy_ns - before_.busy_ns;
  const std::uint64_t lost_ns = totals.lost_ns - before_.lost_ns;
  before_ = totals;
  if (setup_.conservative || setup_.fixed > core::Time{0}) return;
  aim_at(busy_ns, lost_ns);
  if (lookahead_is_enough(executed)) {
    span_ = setup_.lookahead;
    return;
  }
  const std::uint64_t wasted_ns = undone * kUndoneEventNs;
  const std::uint64_t aim = aim_ * setup_.partitions;
  const bool wasteful = wasted_ns > 2 * lost_ns || undone * 4 > executed;
  const bool thrifty = 2 * wasted_ns < lost_ns;
  if (wasteful || executed > 2 * aim)
    span_ = core::Time{span_.ps / 2};
  else if (thrifty && executed < aim)
    span_ = core::Time{span_.ps + span_.ps / 4 + 1};
  span_ = std::clamp(span_, setup_.lookahead, kSpanMax);
}

}  // namespace exawarp::pdes
